/** No call reads more rows because more messages wait. The server counts them within the transaction of the call. */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createPostgresIncidents,
  createPostgresQueue,
  type PostgresIncidentStore,
  type PostgresPool,
} from '../../../src/queue/postgres.ts';
import type { MessageQueue } from '../../../src/queue/queue.ts';
import { deferred } from '../../../src/runtime/deferred.ts';
import { postgresPrograms } from '../../helpers/postgres-server.ts';
import { reportOf } from '../../incident/describe-incident-store.ts';
import {
  claimFrom,
  DEAD,
  DELIVERED,
  entryOf,
  INITIAL,
  LAST,
  REQUEST,
  retry,
  settleAll,
} from '../conformance/trial.ts';
import { SCHEMA, useDatabase } from './use-database.ts';

const SMALL = 60;
const LARGE = 3000;
const DAY_MS = 86_400_000;
const APPLICATIONS = ['one', 'two', 'three'];

const READS = `select relname, (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as rows
  from pg_stat_xact_user_tables where schemaname = '${SCHEMA}'
    and relname in ('message', 'dead_letter', 'incident', 'incident_name') order by relname`;

const INCIDENTS = `insert into ${SCHEMA}.incident (key, started_at, seen_at)
  select sha256(i::text::bytea), 0, floor(${SCHEMA}.now_exact()) from generate_series(1, $1) i`;

const CLOSE = `update ${SCHEMA}.application set health = 'closed' where id = $1`;

const claimed = (queue: MessageQueue) => claimFrom(queue, { ...REQUEST, maxMessages: 5 });

type Call = (queue: MessageQueue, incidents: PostgresIncidentStore) => unknown;

const CALLS: readonly (readonly [string, Call])[] = [
  ['enqueue', (queue) => queue.enqueue(APPLICATIONS.map((name) => entryOf(name)))],
  ['claim', (queue) => claimed(queue)],
  [
    'settle',
    async (queue) => {
      const results = [DELIVERED, DEAD, retry(1000), retry(1000), retry(1000)];
      await queue.settle(await claimed(queue), results, LAST);
    },
  ],
  ['release', async (queue) => queue.release(await claimed(queue))],
  ['extend', async (queue) => queue.extend(await claimed(queue), 1000)],
  ['deadLetterOlderThan, if nothing is so old', (queue) => queue.deadLetterOlderThan(DAY_MS, 1000)],
  ['deadLetterOlderThan', (queue) => queue.deadLetterOlderThan(-1000, 3)],
  [
    'deadLetterClosed',
    async (queue) => {
      const claim = await claimed(queue);
      await settleAll(queue, claim, { result: retry(1000), health: 'closed' });
      return queue.deadLetterClosed(claim.applicationId, 3);
    },
  ],
  ['listDeadLetters', (queue) => queue.listDeadLetters({ applicationId: 'dead', limit: 3 })],
  ['replayDeadLetters', (queue) => queue.replayDeadLetters({ applicationId: 'few' })],
  ['purgeDeadLetters', (queue) => queue.purgeDeadLetters({ applicationId: 'few' })],
  ['stats', (queue) => queue.stats()],
  ['countPending', (queue) => queue.countPending([{ from: 1, to: 3 }])],
  ['tell', (_, incidents) => incidents.record(reportOf({ addresses: ['a'] }))],
];

/** A pool of one connection, which the test uses between calls. */
function poolOf(client: pg.Client): PostgresPool {
  const query = (config: pg.QueryConfig) => client.query(config);
  const events = { on: (): void => {}, off: (): void => {} };
  let free = Promise.resolve();
  const connect = async () => {
    const before = free;
    const over = deferred();
    free = over.promise;
    await before;
    return { query, ...events, release: over.resolve };
  };
  return { connect };
}

describe.runIf(postgresPrograms !== undefined)('what a call reads in PostgreSQL', () => {
  const { database } = useDatabase();
  let client: pg.Client;
  let queue: MessageQueue;
  let incidents: PostgresIncidentStore;

  beforeAll(async () => {
    client = database.control;
    const options = { pool: poolOf(client), schema: SCHEMA };
    queue = createPostgresQueue({ ...options, listen: false });
    incidents = createPostgresIncidents(options);
    await queue.open(INITIAL);
  });

  afterAll(async () => {
    await queue.close();
    await incidents.close();
  });

  /** Adds `count` messages and incidents, and dead letters for these applications. Flushes their counters. */
  async function filled(count: number, letters: readonly string[]): Promise<void> {
    const entries = Array.from({ length: count }, (_, index) =>
      entryOf(APPLICATIONS[index % 3] ?? ''),
    );
    await queue.enqueue(entries);
    await queue.enqueue(letters.map((name) => entryOf(name)));
    for (const name of new Set(letters)) {
      await client.query(CLOSE, [name]);
      await queue.deadLetterClosed(name, letters.length);
      await queue.reopenApplication(name);
    }
    await client.query(INCIDENTS, [count]);
    // A claim flushes the counters.
    await queue.release(await claimed(queue));
  }

  const counted = async () => (await client.query<{ relname: string; rows: number }>(READS)).rows;

  async function reads(call: Call): Promise<Record<string, number>> {
    await client.query('begin');
    // The server goes on counting for some time after a transaction.
    const before = await counted();
    await call(queue, incidents);
    const after = await counted();
    await client.query('rollback');
    const counts = after.map(({ relname, rows }, index) => [
      relname,
      rows - (before[index]?.rows ?? 0),
    ]);
    return Object.fromEntries(counts) as Record<string, number>;
  }

  const all = async () => {
    const counts: Record<string, Record<string, number>> = {};
    for (const [name, call] of CALLS) counts[name] = await reads(call);
    return counts;
  };

  test('is the same when fifty times as many messages wait', async () => {
    await filled(SMALL, [...Array<string>(10).fill('dead'), 'few', 'few']);
    const few = await all();
    await client.query(`delete from ${SCHEMA}.incident`);
    await filled(LARGE, Array<string>(500).fill('dead'));
    expect(await all()).toEqual(few);
    // The claim reads five messages and the next one, and returns the content of the five.
    expect(few['claim']).toMatchObject({ message: 11, incident: 0 });
  });
});
