/** kill -9 of the primary under load: its standby takes over, and nothing that was accepted is lost. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createPostgresQueue,
  createPostgresSchema,
  type PostgresConnection,
} from '../../../src/queue/postgres.ts';
import type { MessageQueue } from '../../../src/queue/queue.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { createSeededRandom } from '../../helpers/seeded-random.ts';
import { claimFrom, entryOf, failedWith, INITIAL, idsOf, REQUEST } from '../conformance/trial.ts';
import { kill, LifeJournal, startLife } from '../life-journal.ts';

/** Number of processes that share the queue. */
const LIVES = 3;

const MAX_PAUSE_MS = 5000;

const canEnqueue = (queue: MessageQueue): Promise<boolean> =>
  queue.enqueue([entryOf('one')]).then(
    () => true,
    () => false,
  );

/** Waits until something more is settled. Returns how long that took. Counts 100 ms of each stop of the machine. */
async function pauseOf(journal: LifeJournal): Promise<number> {
  const { length: settled } = journal.idsOf('settled');
  let pauseMs = 0;
  let lookedMs = performance.now();
  while (pauseMs < MAX_PAUSE_MS && journal.idsOf('settled').length === settled) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const nowMs = performance.now();
    pauseMs += Math.min(100, nowMs - lookedMs);
    lookedMs = nowMs;
  }
  return pauseMs;
}

describe.runIf(postgresPrograms !== undefined)('the PostgreSQL queue with a standby', () => {
  let servers: [primary: PostgresServer, standby: PostgresServer];
  let folder: string;
  const opened: MessageQueue[] = [];
  const lives: ChildProcess[] = [];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'postgres-failover-'));
    const settings = { wal_keep_size: '256MB' };
    servers = [await PostgresServer.start(settings), await PostgresServer.create(settings)];
    const [primary, standby] = servers;
    await createPostgresSchema({ connection: primary.connection });
    await standby.follow(primary);
    await primary.waitForStandby();
  });

  afterEach(async () => {
    for (const child of lives.splice(0)) child.kill('SIGKILL');
    // Commits would wait for a standby that is gone.
    for (const server of servers) await server.kill('SIGQUIT');
    for (const queue of opened.splice(0)) await queue.close().catch(() => {});
    for (const server of servers) await server.stop();
    rmSync(folder, { recursive: true });
  });

  const hosts = (): pg.ClientConfig[] => servers.map(({ connection }) => connection);

  /** The standby takes over; the old primary stays down. */
  async function failOver(): Promise<void> {
    const [primary, standby] = servers;
    await primary.kill('SIGKILL');
    await standby.query('select pg_promote()');
    servers = [standby, primary];
  }

  async function rebuildStandby(): Promise<void> {
    const [primary, standby] = servers;
    await standby.follow(primary);
    await primary.waitForStandby();
  }

  const open = async (options: object): Promise<MessageQueue> => {
    const queue = createPostgresQueue({ callTimeoutMs: 3000, pollMs: 50, ...options });
    opened.push(queue);
    await queue.open(INITIAL);
    return queue;
  };

  test(
    'loses nothing and goes on within 5 s of the promotion, again and again',
    async () => {
      const random = createSeededRandom(3);
      const journal = new LifeJournal(join(folder, 'journal'));
      const connection = JSON.stringify(hosts());
      for (let seed = 0; seed < LIVES; seed += 1) {
        const args = [connection, 'security_events', journal.file, `${seed}`];
        lives.push(await startLife('postgres-workload', args));
      }
      const failovers = quickOrNightly(2, 20);
      for (let count = 0; count < failovers; count += 1) {
        await journal.waitUntilBusy(count + 1);
        await new Promise((resolve) => setTimeout(resolve, random() * 300));
        await failOver();
        expect(await pauseOf(journal)).toBeLessThan(MAX_PAUSE_MS);
        await rebuildStandby();
      }
      await Promise.all(lives.splice(0).map(kill));
      const queue = await open({ connection: hosts() });
      const failures = journal.idsOf('failed').length;
      expect(failures).toBeGreaterThan(0);
      await journal.judge(queue, failures + LIVES * 3);
    },
    quickOrNightly(300_000, 1_800_000),
  );

  test('says replicated only while commits wait for a standby', async () => {
    const queue = await open({ connection: hosts() });
    expect(queue.durability).toBe('replicated');
    await failOver();
    await expect.poll(() => canEnqueue(queue)).toBe(true);
    expect(queue.durability).toBe('server');
    await rebuildStandby();
    await expect.poll(async () => (await canEnqueue(queue)) && queue.durability).toBe('replicated');
    const [primary] = servers;
    await primary.query(`alter role postgres set synchronous_commit = 'local'`);
    await primary.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid()`);
    await expect.poll(() => canEnqueue(queue)).toBe(true);
    expect(queue.durability).toBe('server');
  });

  test('asks a connect function for the server again after a failover', async () => {
    let calls = 0;
    const connect = () => {
      calls += 1;
      return Promise.resolve(servers[0].connection as PostgresConnection);
    };
    const queue = await open({ connect });
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    expect(calls).toBe(1);
    await failOver();
    await expect
      .poll(async () => {
        const claim = await queue.claim(REQUEST).catch(() => ({}));
        return 'messages' in claim && idsOf(claim);
      })
      .toEqual(['a']);
    expect(calls).toBeGreaterThan(1);
  });

  test('rejects calls in time when no standby confirms a commit, and goes on when one does', async () => {
    const queue = await open({ connection: hosts(), callTimeoutMs: 3000 });
    const [primary, standby] = servers;
    await standby.kill('SIGKILL');
    // Its processes confirm commits for some moments after their parent was killed.
    const standbys = async () => (await primary.query('select from pg_stat_replication')).length;
    await expect.poll(standbys).toBe(0);
    const startedAt = performance.now();
    await expect(queue.enqueue([entryOf('one')])).rejects.toEqual(failedWith(''));
    expect(performance.now() - startedAt).toBeLessThan(4500);
    await standby.start();
    await expect.poll(() => canEnqueue(queue)).toBe(true);
    expect(queue.durability).toBe('replicated');
    await claimFrom(queue);
  });

  test('finds the primary when it is opened, at any place in the list', async () => {
    const [primary, standby] = servers;
    const connection = [standby.connection, { host: folder, port: 1 }, primary.connection];
    const queue = await open({ connection });
    await queue.enqueue([entryOf('one')]);
    const opening = open({ connection: [standby.connection] });
    await expect(opening).rejects.toEqual(failedWith('takes no writes'));
  });
});
