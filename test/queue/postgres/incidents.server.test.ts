/** Incidents that processes share are reported like those in the memory of one process. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createPostgresIncidents,
  type PostgresIncidentStore,
} from '../../../src/queue/postgres.ts';
import { postgresPrograms } from '../../helpers/postgres-server.ts';
import { describeIncidentStore, reportOf } from '../../incident/describe-incident-store.ts';
import { SCHEMA, useDatabase } from './use-database.ts';

const FORGET = `delete from ${SCHEMA}.incident`;
const AGE = `update ${SCHEMA}.incident set seen_at = seen_at - $1::bigint`;

describe.runIf(postgresPrograms !== undefined)('incidents in PostgreSQL', () => {
  const { database } = useDatabase();
  let incidents: PostgresIncidentStore;

  beforeAll(() => {
    const { connection } = database.server;
    incidents = createPostgresIncidents({ connection, schema: SCHEMA });
  });

  afterAll(() => incidents.close());

  describeIncidentStore(
    'PostgreSQL',
    {
      create: async () => {
        await database.server.query(FORGET);
        const pass = (ms: number) => database.server.query(AGE, [ms]);
        return { store: incidents, pass, dispose: async () => {} };
      },
      isBounded: false,
    },
    15,
  );

  test('are forgotten when they are over, ten incidents and 1000 names at a time', async () => {
    const { server } = database;
    await server.query(FORGET);
    const addresses = Array.from({ length: 2500 }, (_, index) => `a-${index}`);
    for (let count = 0; count < 11; count += 1) {
      await incidents.record(reportOf({ incidentId: `old-${count}` }));
      await server.query(AGE, [1000]);
    }
    await incidents.record(reportOf({ incidentId: 'large', addresses }));
    await server.query(AGE, [31 * 86_400_000]);
    const report = reportOf({ incidentId: 'large', at: 7, addresses: ['a-1'] });
    const again = await incidents.record(report);
    expect(again).toMatchObject({ isFirst: true, startedAt: 7, newAddresses: ['a-1'] });
    const left = async () => {
      const [row] = await server.query(`select (select count(*) from ${SCHEMA}.incident)::int
        as incidents, (select count(*) from ${SCHEMA}.incident_name)::int as names`);
      return [row?.['incidents'], row?.['names']];
    };
    // Ten of the 12 that are over are gone. One of the other two has names.
    expect(await left()).toEqual([3, 2501]);
    const counts: unknown[] = [];
    for (let count = 0; count < 4; count += 1) {
      await incidents.record(reportOf({ incidentId: 'large' }));
      counts.push(await left());
    }
    expect(counts).toEqual([
      [2, 1501],
      [2, 501],
      [2, 1],
      [1, 1],
    ]);
  });

  test("leaves the caller's pool open when it is closed", async () => {
    const pool = new pg.Pool(database.server.connection);
    const store = createPostgresIncidents({ pool, schema: SCHEMA });
    await store.record(reportOf({ incidentId: 'by pool' }));
    await store.close();
    await store.close();
    await expect(store.record(reportOf())).rejects.toMatchObject({ code: 'ERR_QUEUE_CLOSED' });
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });

  test('refuses an option that only a queue has', () => {
    const options = { connection: database.server.connection, pollMs: 100 };
    expect(() => createPostgresIncidents(options)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['pollMs'] }),
    );
  });
});
