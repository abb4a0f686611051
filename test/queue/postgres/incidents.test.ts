/** The incidents that processes share are told as those in the memory of one. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { IncidentReport } from '../../../src/incident/incident-store.ts';
import { createMemoryIncidents } from '../../../src/incident/memory-incidents.ts';
import {
  createPostgresQueue,
  createPostgresSchema,
  type PostgresMessageQueue,
} from '../../../src/queue/postgres.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';

const report = (given: Partial<IncidentReport> = {}): IncidentReport => ({
  applicationId: 'shop-1',
  incidentId: 'incident-1',
  channel: 'webhook',
  at: 1000,
  addresses: [],
  accounts: [],
  ...given,
});

const anyNames = fc.array(fc.constantFrom('a', 'b', '\u0000', '"', 'x'.repeat(5000)), {
  maxLength: 4,
});

const anySteps = fc.array(
  fc.record({
    report: fc.record({
      applicationId: fc.constantFrom('shop', 'shop\n', ''),
      incidentId: fc.constantFrom('1', '\n1', 'y'.repeat(5000)),
      channel: fc.constantFrom('log' as const, 'webhook' as const),
      at: fc.integer({ min: 0, max: 2 ** 41 }),
      addresses: anyNames,
      accounts: anyNames,
    }),
    isRetracted: fc.boolean(),
  }),
  { maxLength: 30 },
);

const AGE = 'update security_events.incident set seen_at = seen_at - $1 * 86400000::bigint';

describe.runIf(postgresPrograms !== undefined)('incidents in PostgreSQL', () => {
  let server: PostgresServer;
  let queue: PostgresMessageQueue;

  beforeAll(async () => {
    server = await PostgresServer.start();
    await createPostgresSchema({ connection: server.connection });
    queue = createPostgresQueue({ connection: server.connection });
  });

  afterAll(async () => {
    await queue.close();
    await server.stop();
  });

  const forgotten = () => server.query('delete from security_events.incident');

  test('are told as in memory, whatever is told and retracted', async () => {
    const property = fc.asyncProperty(anySteps, async (steps) => {
      await forgotten();
      const memory = createMemoryIncidents();
      for (const { report: given, isRetracted } of steps) {
        const news = await queue.incidents.tell(given);
        expect(news).toEqual(await memory.tell(given));
        if (!isRetracted) continue;
        await queue.incidents.retract(given, news);
        await memory.retract(given, news);
      }
    });
    await fc.assert(property, { numRuns: 15 });
  });

  test('are created by one of many first reports at the same time, from whichever process', async () => {
    const other = createPostgresQueue({ connection: server.connection });
    const news = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const { incidents } = index % 2 === 0 ? queue : other;
        return await incidents.tell(report({ incidentId: 'at once', addresses: [`${index % 4}`] }));
      }),
    );
    expect(news.filter(({ isFirst }) => isFirst)).toHaveLength(1);
    expect(news.flatMap(({ newAddresses }) => newAddresses).toSorted()).toEqual([
      '0',
      '1',
      '2',
      '3',
    ]);
    await other.close();
    await expect(other.incidents.tell(report())).rejects.toMatchObject({
      code: 'ERR_QUEUE_CLOSED',
    });
  });

  test('are forgotten, with their names, when they were not told of for 30 days', async () => {
    const names = { addresses: ['a'], accounts: ['b'] };
    const old = report({ incidentId: 'old', ...names });
    await queue.incidents.tell(old);
    await server.query(AGE, [29]);
    expect(await queue.incidents.tell(old)).toMatchObject({ isFirst: false, newAddresses: [] });
    await server.query(AGE, [31]);
    expect(await queue.incidents.tell(report({ incidentId: 'old', at: 5, ...names }))).toEqual({
      isFirst: true,
      startedAt: 5,
      newAddresses: ['a'],
      newAccounts: ['b'],
    });
  });
});
