/** Networks that stall and processes that stop: no call hangs, and no other process waits. */
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createPostgresQueue,
  createPostgresSchema,
  type PostgresQueueOptions,
} from '../../../src/queue/postgres.ts';
import type { MessageQueue } from '../../../src/queue/queue.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { type Direction, StallingProxy } from '../../helpers/stalling-proxy.ts';
import {
  claimFrom,
  entryOf,
  INITIAL,
  idsOf,
  isClaim,
  REQUEST as OF_HEALTHY,
  settleAll,
} from '../conformance/trial.ts';

const REQUEST = { ...OF_HEALTHY, leaseMs: 4000 };
const LARGE = { ...INITIAL, maxMessages: 1000, maxBytes: 1e9 };

const large = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    entryOf('large', { messageId: `large-${index}`, bytes: Buffer.alloc(20_000, 'x') }),
  );

/** Timeout of calls that must fail in time. Long enough for a busy machine to be in time. */
const TIMEOUT_MS = 3000;

/** For calls that nothing blocks: a third of the default timeout, after which a blocked one fails. */
const SOON_MS = 10_000;

const durationOf = async (work: Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work;
  return performance.now() - startedAt;
};

describe.runIf(postgresPrograms !== undefined)('the PostgreSQL queue', () => {
  let server: PostgresServer;
  let proxy: StallingProxy;
  const opened: MessageQueue[] = [];

  beforeEach(async () => {
    server = await PostgresServer.start();
    proxy = await StallingProxy.start(server.connection);
    await createPostgresSchema({ connection: server.connection });
  });

  afterEach(async () => {
    proxy.resume();
    proxy.cut();
    for (const queue of opened.splice(0)) await queue.close().catch(() => {});
    await proxy.stop();
    await server.stop();
  });

  const open = async (options: PostgresQueueOptions = {}): Promise<MessageQueue> => {
    const given = options.pool === undefined ? { connection: server.connection } : {};
    const queue = createPostgresQueue({ ...given, pollMs: 50, ...options });
    opened.push(queue);
    await queue.open(LARGE);
    return queue;
  };

  /** Opens a queue behind the proxy, whose sessions have a name. */
  const openStopped = () =>
    open({ connection: { ...proxy.connection, application_name: 'stopped' }, listen: false });

  /** Returns the state of each session of the stopped queue, and how many locks it has that others may wait for. */
  const stoppedSessions = () =>
    server.query(`select state, (select count(*)::integer from pg_locks l
        where l.pid = a.pid and locktype in ('transactionid', 'advisory')) as locks
      from pg_stat_activity a where application_name = 'stopped'`);

  test('lets others go on when a dispatcher stops while it reads a large claim', async () => {
    const stopped = await openStopped();
    const other = await open();
    await other.enqueue(large(1000));
    // Flushes its counters first: that locks the application, and a claim skips what is locked.
    await other.claim({ ...REQUEST, ofHealth: ['failing'] });
    await stopped.stats();
    proxy.stall('to-client');
    const claiming = stopped.claim(REQUEST).catch(() => undefined);
    const claims = 'select from security_events.application where claim is not null';
    await expect.poll(() => server.query(claims)).toHaveLength(1);
    await expect.poll(stoppedSessions).toEqual([{ state: 'idle', locks: 0 }]);
    await other.enqueue([entryOf('small', { messageId: 'a' })]);
    const small = await claimFrom(other, REQUEST);
    expect(idsOf(small)).toEqual(['a']);
    await settleAll(other, small);
    expect(await durationOf(other.claim(REQUEST))).toBeLessThan(SOON_MS);
    expect(await durationOf(other.deadLetterClosed('elsewhere', 9))).toBeLessThan(SOON_MS);
    await expect
      .poll(async () => {
        const claim = await other.claim({ ...REQUEST, maxMessages: 1 });
        return isClaim(claim) && [idsOf(claim), claim.messages[0]?.retryCount];
      })
      .toEqual([['large-0'], 1]);
    proxy.cut();
    await claiming;
  });

  test('lets others dead-letter messages of the application whose claim a stopped dispatcher reads', async () => {
    const stopped = await openStopped();
    const other = await open();
    await other.enqueue(large(1000));
    await server.query(`select security_events.flush_counters('{}')`);
    const stalled = proxy.stallAfter(1_000_000);
    const claiming = stopped.claim(REQUEST).catch(() => undefined);
    await stalled;
    const calls = [other.deadLetterOlderThan(-1000, 9), other.enqueue([entryOf('large')])];
    expect(await durationOf(Promise.all(calls))).toBeLessThan(SOON_MS);
    expect(await stoppedSessions()).toEqual([{ state: 'active', locks: 0 }]);
    proxy.resume();
    proxy.cut();
    await claiming;
  });

  test.each<[string, readonly Direction[]]>([
    ['to the server', ['to-server']],
    ['to the client', ['to-client']],
    ['both ways', ['to-server', 'to-client']],
  ])('rejects in time when the network is cut %s, and works again later', async (_, directions) => {
    const queue = await open({ connection: proxy.connection, callTimeoutMs: TIMEOUT_MS });
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    proxy.stall(...directions);
    const calls = Array.from({ length: 30 }, () => queue.enqueue([entryOf('two')]));
    const later = new Promise((resolve) => setTimeout(resolve, 500)).then(() =>
      durationOf(queue.enqueue([entryOf('two')]).catch(() => {})),
    );
    const claimMs = durationOf(queue.claim(REQUEST).catch(() => {}));
    const startedAt = performance.now();
    const answers = await Promise.allSettled(calls);
    expect(performance.now() - startedAt).toBeLessThan(1.5 * TIMEOUT_MS);
    expect(answers.map(({ status }) => status)).toEqual(calls.map(() => 'rejected'));
    expect(await later).toBeLessThan(1.5 * TIMEOUT_MS);
    expect(await claimMs).toBeLessThan(1.5 * TIMEOUT_MS);
    proxy.cut();
    proxy.resume();
    await expect
      .poll(async () => {
        const claim = await queue.claim(REQUEST).catch(() => ({}));
        return 'messages' in claim && claim.applicationId === 'one' && idsOf(claim);
      })
      .toEqual(['a']);
  });

  test('closes in time when the network is cut, with claims that it cannot release', async () => {
    const queue = await open({ connection: proxy.connection, callTimeoutMs: 1000 });
    await queue.enqueue(Array.from({ length: 8 }, (_, index) => entryOf(`a-${index}`)));
    for (let count = 0; count < 8; count += 1) {
      await claimFrom(queue, { ...REQUEST, leaseMs: 60_000 });
    }
    proxy.stall('to-server', 'to-client');
    expect(await durationOf(queue.close().catch(() => {}))).toBeLessThan(5000);
  });

  test('rejects in time when the pool of the caller gives no connection', async () => {
    const pool = new pg.Pool({ ...server.connection, max: 1 });
    const queue = await open({ pool, callTimeoutMs: TIMEOUT_MS, listen: false });
    const taken = await pool.connect();
    const refused = queue.stats().catch((error: unknown) => error);
    expect(await durationOf(refused)).toBeLessThan(2 * TIMEOUT_MS);
    taken.release();
    expect((await queue.stats()).accepted).toBe(0);
    await queue.close();
    await pool.end();
  });

  test('listens on a new connection after the network stalled without a word', async () => {
    const { connection } = proxy;
    const queue = await open({ connection, pollMs: 1_000_000, callTimeoutMs: 500 });
    let calls = 0;
    queue.onDue(() => {
      calls += 1;
    });
    await expect.poll(() => calls).toBe(1);
    proxy.stall('to-server', 'to-client');
    await new Promise((resolve) => setTimeout(resolve, 100));
    // New connections pass again, the old one stays stalled.
    proxy.abandon();
    await expect.poll(() => calls, { timeout: 60_000 }).toBe(2);
    await (await open()).enqueue([entryOf('one')]);
    await expect.poll(() => calls).toBeGreaterThan(2);
  });
});
