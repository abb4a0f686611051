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
import { reportOf } from '../../incident/describe-incident-store.ts';
import {
  claimFrom,
  DEAD,
  DELIVERED,
  entryOf,
  failedWith,
  INITIAL,
  idsOf,
  isClaim,
  LAST,
  REQUEST,
  retry,
  settleAll,
} from '../conformance/trial.ts';
import { SCHEMA, useDatabase } from './use-database.ts';

/** Makes each kind of call once. Returns the names of what was delivered. */
async function lived(
  { queue, incidents }: { readonly queue: MessageQueue; readonly incidents: IncidentStore },
  names: readonly string[],
): Promise<string[]> {
  const [application = ''] = names;
  await queue.enqueue(names.map((messageId) => entryOf(application, { messageId })));
  const first = await claimFrom(queue);
  await queue.extend(first, 60_000);
  const result = { kind: 'retry', afterMs: 0, retryState: application } as const;
  await settleAll(queue, first, { result, circuitBreaker: application });
  const second = await claimFrom(queue);
  expect([second.applicationId, second.state.circuitBreaker]).toEqual([application, application]);
  expect(second.messages.map(({ retryState }) => retryState)).toEqual(names.map(() => application));
  await queue.settle(second, [DEAD, ...names.slice(1).map(() => DELIVERED)], LAST);
  expect(await queue.replayDeadLetters({ applicationId: application })).toBe(1);
  expect(await queue.deadLetterOlderThan(-1000, 9)).toHaveLength(1);
  expect(await queue.deadLetterClosed(application, 9)).toEqual([]);
  await queue.reopenApplication(application);
  expect(await queue.purgeDeadLetters({ applicationId: application })).toBe(1);
  expect((await queue.stats()).applications.get(application)).toMatchObject({ pending: 0 });
  const report = reportOf({ applicationId: application, addresses: names });
  const news = await incidents.record(report);
  expect(news.newAddresses).toEqual(names);
  await incidents.retract(report, news);
  return idsOf(second);
}

const lockOf = (schema: string): string =>
  `select pg_advisory_xact_lock(hashtextextended('${schema} schema', 0))`;

describe.runIf(postgresPrograms !== undefined)('the PostgreSQL queue', () => {
  const { database, create, createSchema, open } = useDatabase();

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
      await expect(making).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
      await database.control.query('commit');
      await pool.end();
    });

    test('is made once by ten concurrent calls whose transactions are serializable', async () => {
      const options = '-c default_transaction_isolation=serializable';
      const connection = { ...database.server.connection, options };
      const make = () => createPostgresSchema({ connection, schema: 'serialised' });
      const answers = await Promise.all(Array.from({ length: 10 }, make));
      expect(answers.toSorted()).toEqual(['created', ...Array<string>(9).fill('present')]);
      const versions = await database.server.query('select version from serialised.schema_version');
      expect(versions).toEqual([{ version: 1 }]);
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
    const options = '-c default_transaction_read_only=on';
    const connection = { ...database.server.connection, options };
    const opening = create({ connection }).open(INITIAL);
    await expect(opening).rejects.toEqual(failedWith('takes no writes'));
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
    const opening = create(await databaseOf('LATIN1')).open(INITIAL);
    await expect(opening).rejects.toEqual(failedWith('is LATIN1, expected UTF8'));
  });

  test('runs no functions of others on the search path', async () => {
    const schema = 'guarded';
    await createSchema(schema);
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
    const pool = new pg.Pool({ ...database.server.connection, max: 1 });
    const queue = await open({ pool });
    const incidents = createPostgresIncidents({ pool, schema: SCHEMA });
    expect(await lived({ queue, incidents }, ['a', 'b'])).toEqual(['a', 'b']);
    await pool.query('discard all');
    expect(await lived({ queue, incidents }, ['c', 'd'])).toEqual(['c', 'd']);
    await incidents.close();
    await queue.close();
    await pool.end();
  });

  test('accepts an infinite lease, delay and pause', async () => {
    const queue = await open();
    await queue.enqueue([entryOf('one')]);
    const claim = await claimFrom(queue, { ...REQUEST, leaseMs: Number.MAX_VALUE });
    const { POSITIVE_INFINITY: forever } = Number;
    const settled = await settleAll(queue, claim, { result: retry(forever), pauseMs: forever });
    expect(settled).toBe('settled');
    expect(isClaim(await queue.claim(REQUEST))).toBe(false);
  });
});
