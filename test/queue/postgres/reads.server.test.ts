/** No call reads more rows because more wait: counted by the server, within the transaction of the call. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createPostgresQueue,
  createPostgresSchema,
  type PostgresMessageQueue,
} from '../../../src/queue/postgres.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { reportOf } from '../../incident/describe-incident-store.ts';
import { DEAD, DELIVERED, entryOf, isClaim, ROW } from '../conformance/trial.ts';

const SMALL = 60;
const LARGE = 3000;
const LAST = { ...ROW, waitMs: 0 };
const DAY_MS = 86_400_000;
const APPLICATIONS = ['one', 'two', 'three'];

const READS = `select relname, (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as rows
  from pg_stat_xact_user_tables where schemaname = 'security_events'
    and relname in ('message', 'dead_letter', 'incident', 'incident_name') order by relname`;

const INCIDENTS = `insert into security_events.incident (key, started_at, seen_at)
  select sha256(i::text::bytea), 0, floor(security_events.now_exact()) from generate_series(1, $1) i`;

const claimed = async (queue: PostgresMessageQueue, maxMessages = 5) => {
  const claim = await queue.claim({ tiers: ['healthy'], maxMessages, maxBytes: 1e6, leaseMs: 1e5 });
  if (!isClaim(claim)) throw new Error('nothing was claimed');
  return claim;
};

type Call = (queue: PostgresMessageQueue) => Promise<unknown>;

const CALLS: readonly (readonly [string, Call])[] = [
  ['enqueue', (queue) => queue.enqueue(APPLICATIONS.map((name) => entryOf(name)))],
  ['claim', (queue) => claimed(queue)],
  [
    'settle',
    async (queue) => {
      const again = { kind: 'again', afterMs: 1000, progress: null } as const;
      const verdicts = [DELIVERED, DEAD, again, again, again];
      await queue.settle(await claimed(queue), verdicts, LAST);
    },
  ],
  ['release', async (queue) => queue.release(await claimed(queue))],
  ['extend', async (queue) => queue.extend(await claimed(queue), 1000)],
  ['expire, where nothing is too old', (queue) => queue.expire(DAY_MS, 1000)],
  ['expire', (queue) => queue.expire(-1000, 3)],
  ['closeApplication', (queue) => queue.closeApplication('one', 3)],
  ['deadLetters', (queue) => queue.deadLetters({ applicationId: 'dead', limit: 3 })],
  ['replay', (queue) => queue.replay({ applicationId: 'few' })],
  ['purge', (queue) => queue.purge({ applicationId: 'few' })],
  ['stats', (queue) => queue.stats()],
  ['tell', async (queue) => queue.incidents.tell(reportOf({ addresses: ['a'] }))],
];

describe.runIf(postgresPrograms !== undefined)('what a call reads in PostgreSQL', () => {
  let server: PostgresServer;
  let client: pg.Client;
  let queue: PostgresMessageQueue;

  beforeAll(async () => {
    server = await PostgresServer.start();
    await createPostgresSchema({ connection: server.connection });
    client = new pg.Client(server.connection);
    await client.connect();
    const query = (config: pg.QueryConfig) => client.query(config);
    queue = createPostgresQueue({ pool: { query, connect: () => {} }, listen: false });
    await queue.open(ROW);
  });

  afterAll(async () => {
    await queue.close();
    await client.end();
    await server.stop();
  });

  /** Adds so many of everything that may be many; what was added is in the counts already. */
  async function filled(count: number, letters: readonly string[]): Promise<void> {
    const entries = Array.from({ length: count }, (_, index) =>
      entryOf(APPLICATIONS[index % 3] ?? ''),
    );
    await queue.enqueue(entries);
    const past = { sends: 1, ageMs: 0, dueInMs: 0, progress: null };
    const death = { reason: 'too-large', end: null } as const;
    await queue.enqueue(letters.map((name) => ({ ...entryOf(name), past: { ...past, death } })));
    await client.query(INCIDENTS, [count]);
    // A claim adds up what came in.
    await queue.release(await claimed(queue));
  }

  const counted = async () => (await client.query<{ relname: string; rows: number }>(READS)).rows;

  async function reads(call: Call): Promise<Record<string, number>> {
    await client.query('begin');
    // The server counts on for some time after a transaction.
    const before = await counted();
    await call(queue);
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

  test('is as much where fifty times as much waits', async () => {
    await filled(SMALL, [...Array<string>(10).fill('dead'), 'few', 'few']);
    const few = await all();
    await client.query('delete from security_events.incident');
    await filled(LARGE, Array<string>(500).fill('dead'));
    expect(await all()).toEqual(few);
    expect(few['claim']).toMatchObject({ message: 6, incident: 0 });
  });
});
