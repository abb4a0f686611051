/** Settings of servers, roles, databases and connections. */
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import type { IncidentStore } from '../../../src/incident/incident-store.ts';
import {
  createPostgresIncidents,
  createPostgresSchema,
  type PostgresConnectionOptions,
  type PostgresQueueOptions,
} from '../../../src/queue/postgres.ts';
import type { MessageQueue } from '../../../src/queue/queue.ts';
import { postgresPrograms } from '../../helpers/postgres-server.ts';
import {
  DEAD,
  DELIVERED,
  entryOf,
  INITIAL,
  idsOf,
  isClaim,
  LAST,
  REQUEST,
} from '../conformance/trial.ts';
import { SCHEMA, useDatabase } from './use-database.ts';

/** Makes each kind of call once. Returns the names of what was delivered. */
async function lived(
  { queue, incidents }: { readonly queue: MessageQueue; readonly incidents: IncidentStore },
  names: readonly string[],
): Promise<string[]> {
  const [application = ''] = names;
  await queue.enqueue(names.map((messageId) => entryOf(application, { messageId })));
  const first = await queue.claim(REQUEST);
  if (!isClaim(first)) throw new Error('nothing was claimed');
  await queue.extend(first, 60_000);
  const again = { kind: 'retry', afterMs: 0, retryState: application } as const;
  await queue.settle(
    first,
    first.messages.map(() => again),
    { ...LAST, circuitBreaker: application },
  );
  const second = await queue.claim(REQUEST);
  if (!isClaim(second)) throw new Error('nothing was claimed again');
  expect([second.applicationId, second.state.circuitBreaker]).toEqual([application, application]);
  expect(second.messages.map(({ retryState }) => retryState)).toEqual(names.map(() => application));
  await queue.settle(second, [DEAD, ...names.slice(1).map(() => DELIVERED)], LAST);
  expect(await queue.replayDeadLetters({ applicationId: application })).toBe(1);
  expect(await queue.deadLetterOlderThan(-1000, 9)).toHaveLength(1);
  expect(await queue.deadLetterClosed(application, 9)).toEqual([]);
  await queue.reopenApplication(application);
  expect(await queue.purgeDeadLetters({ applicationId: application })).toBe(1);
  expect((await queue.stats()).applications.get(application)).toMatchObject({ pending: 0 });
  const report = { applicationId: application, incidentId: 'i', channel: 'log', at: 1 } as const;
  const news = await incidents.record({ ...report, addresses: names, accounts: [] });
  expect(news.newAddresses).toEqual(names);
  await incidents.retract({ ...report, addresses: names, accounts: [] }, news);
  return idsOf(second);
}

const lockOf = (schema: string): string =>
  `select pg_advisory_xact_lock(hashtextextended('${schema} schema', 0))`;

describe.runIf(postgresPrograms !== undefined)('the PostgreSQL queue', () => {
  const { database, create, open } = useDatabase();

  const livedWith = async (
    given: PostgresConnectionOptions,
    names: readonly string[],
  ): Promise<string[]> => {
    const incidents = createPostgresIncidents(given);
    try {
      return await lived({ queue: await open(given), incidents }, names);
    } finally {
      await incidents.close();
    }
  };

  describe('its schema', () => {
    test('is waited for at most as long as callTimeoutMs, also in a pool of the caller', async () => {
      await database.control.query(`begin; ${lockOf('slow')}`);
      const pool = new pg.Pool(database.server.connection);
      const making = createPostgresSchema({ pool, schema: 'slow', callTimeoutMs: 200 });
      const error: unknown = await making.catch((thrown: unknown) => thrown);
      await database.control.query('commit');
      await pool.end();
      expect(error).toMatchObject({ code: 'ERR_QUEUE_FAILED' });
    });

    test('is made once by ten concurrent calls whose transactions are serializable', async () => {
      const options = '-c default_transaction_isolation=serializable';
      const given = {
        connection: { ...database.server.connection, options },
        schema: 'serialised',
      };
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => createPostgresSchema(given)),
      );
      expect(answers.toSorted()).toEqual(['created', ...Array<string>(9).fill('present')]);
      expect(
        await database.control.query('select version from serialised.schema_version'),
      ).toMatchObject({
        rows: [{ version: 1 }],
      });
    });

    test('is made by the owner of an empty schema who may not create schemas', async () => {
      await database.control.query(
        'create role owner_only login; create schema owned authorization owner_only',
      );
      const connection = { ...database.server.connection, user: 'owner_only' };
      expect(await createPostgresSchema({ connection, schema: 'owned' })).toBe('created');
      expect(await livedWith({ connection, schema: 'owned' }, ['a', 'b'])).toEqual(['a', 'b']);
    });

    test('may have the longest name that PostgreSQL allows', async () => {
      const given = { connection: database.server.connection, schema: 's'.repeat(63) };
      await createPostgresSchema(given);
      expect(await livedWith(given, ['a', 'b'])).toEqual(['a', 'b']);
    });
  });

  test('rejects open on a server that takes no writes, and says so', async () => {
    const schema = 'read_only';
    await createPostgresSchema({ connection: database.server.connection, schema });
    const connection = {
      ...database.server.connection,
      options: '-c default_transaction_read_only=on',
    };
    await expect(create({ connection, schema }).open(INITIAL)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('takes no writes') as string,
    });
  });

  const databaseOf = async (encoding: string): Promise<PostgresQueueOptions> => {
    const name = `db_${encoding.toLowerCase()}`;
    await database.control.query(`create database ${name} template template0
      encoding '${encoding}' lc_collate 'C' lc_ctype 'C'`);
    const connection = { ...database.server.connection, database: name };
    await createPostgresSchema({ connection, schema: SCHEMA });
    return { connection, schema: SCHEMA };
  };

  test('stores any text in a database without an encoding', async () => {
    const names = ['ü\u0000 日本 \ud83d \u{1f512}', 'é'];
    expect(await livedWith(await databaseOf('SQL_ASCII'), names)).toEqual(names);
  });

  test('rejects open in a database whose encoding lacks letters, and says so', async () => {
    await expect(create(await databaseOf('LATIN1')).open(INITIAL)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('is LATIN1, expected UTF8') as string,
    });
  });

  test('runs no functions of others on the search path', async () => {
    const schema = 'guarded';
    await createPostgresSchema({ connection: database.server.connection, schema });
    await database.control.query(`
      create table public.trap (name text);
      grant insert on public.trap to public;
      create function public.sprung(a double precision, b integer) returns double precision language plpgsql as
        $$ begin insert into public.trap values ('times'); return a operator(pg_catalog.*) b::double precision; end $$;
      create operator public.* (leftarg = double precision, rightarg = integer, function = public.sprung);
      create function public.sprung(a bigint, b double precision) returns double precision language plpgsql as
        $$ begin insert into public.trap values ('minus'); return a::double precision operator(pg_catalog.-) b; end $$;
      create operator public.- (leftarg = bigint, rightarg = double precision, function = public.sprung);
      create function public.floor(a bigint) returns bigint language plpgsql as
        $$ begin insert into public.trap values ('floor'); return a; end $$;`);
    expect(await livedWith({ connection: database.server.connection, schema }, ['a', 'b'])).toEqual(
      ['a', 'b'],
    );
    expect((await database.control.query('select * from public.trap')).rows).toEqual([]);
    await database.control.query(`drop operator public.* (double precision, integer);
      drop operator public.- (bigint, double precision); drop function public.floor(bigint);`);
  });

  test('works on connections whose prepared statements were discarded', async () => {
    const schema = 'discarded';
    await createPostgresSchema({ connection: database.server.connection, schema });
    const pool = new pg.Pool({ ...database.server.connection, max: 1 });
    const queue = await open({ pool, schema });
    const incidents = createPostgresIncidents({ pool, schema });
    expect(await lived({ queue, incidents }, ['a', 'b'])).toEqual(['a', 'b']);
    await pool.query('discard all');
    expect(await lived({ queue, incidents }, ['c', 'd'])).toEqual(['c', 'd']);
    await incidents.close();
    await queue.close();
    await pool.end();
  });

  test('accepts an infinite lease, delay and pause', async () => {
    const schema = 'endless';
    await createPostgresSchema({ connection: database.server.connection, schema });
    const queue = await open({ connection: database.server.connection, schema });
    await queue.enqueue([entryOf('one')]);
    const claim = await queue.claim({ ...REQUEST, leaseMs: Number.MAX_VALUE });
    if (!isClaim(claim)) throw new Error('nothing was claimed');
    const again = { kind: 'retry', afterMs: Number.POSITIVE_INFINITY, retryState: null } as const;
    const state = { ...INITIAL, pauseMs: Number.POSITIVE_INFINITY };
    expect(await queue.settle(claim, [again], state)).toBe('settled');
    expect(isClaim(await queue.claim(REQUEST))).toBe(false);
  });
});
