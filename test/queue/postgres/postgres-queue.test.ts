/** What the PostgreSQL queue does without a server. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readQueueOptions } from '../../../src/queue/postgres/options.ts';
import { PostgresQueue } from '../../../src/queue/postgres/postgres-queue.ts';
import { durabilityOf } from '../../../src/queue/postgres/schema.ts';
import { createPostgresQueue } from '../../../src/queue/postgres.ts';
import { toWhole } from '../../../src/queue/stored-values.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { isOwnWork } from '../../../src/runtime/untraced.ts';
import { failedWith, INITIAL } from '../conformance/trial.ts';

const failToConnect = (): never => {
  throw new Error('no such service');
};

const notInstalled = () => Promise.reject(new Error('no such module'));

test.each([
  [1.9, 1],
  [-3, 0],
  [Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER],
])('the number %d is stored as %d', (value, whole) => {
  expect(toWhole(value)).toBe(whole);
});

describe('the durability of server settings', () => {
  test.each([
    ['on', 'on', '', 'server'],
    ['on', 'local', '', 'server'],
    ['on', 'remote_write', ' ', 'server'],
    ['on', 'remote_apply', '*', 'replicated'],
    ['on', 'on', 'a', 'replicated'],
    ['on', 'local', 'a', 'server'],
    ['on', 'off', 'a', 'process-crash'],
    ['off', 'on', 'a', 'process-crash'],
    ['on', 'unheard-of', 'a', 'process-crash'],
  ])('fsync %s, synchronous_commit %s, standbys %j: %s', (fsync, commit, standbys, durability) => {
    expect(durabilityOf({ fsync, commit, standbys })).toBe(durability);
  });
});

describe('a queue', () => {
  test('names the missing package and how to install it', async () => {
    const connection = 'postgres://queue@localhost/events';
    const parts = { clock: systemClock, newId: () => 'id', load: notInstalled };
    const queue = new PostgresQueue(readQueueOptions({ connection }), parts);
    expect(queue.durability).toBe('process-crash');
    const opening = queue.open(INITIAL);
    await expect(opening).rejects.toEqual(failedWith('npm install pg@8', 'ERR_PEER_MISSING'));
    await expect(opening).rejects.toMatchObject({ cause: { message: 'no such module' } });
    await expect(queue.enqueue([])).rejects.toMatchObject({ code: 'ERR_QUEUE_CLOSED' });
    expect(await queue.close()).toEqual({ returned: [], remaining: 0 });
  });

  test('does not open if connect returns no server, rather than use the defaults of pg', async () => {
    const queue = createPostgresQueue({ connect: (() => undefined) as never });
    await expect(queue.open(INITIAL)).rejects.toEqual(failedWith('connect returned neither'));
    await queue.close();
  });

  test('does not say that PostgreSQL is at fault if connect fails', async () => {
    const queue = createPostgresQueue({ connect: failToConnect });
    const opening = queue.open(INITIAL);
    await expect(opening).rejects.toEqual(failedWith('The queue failed: connect failed. '));
    await expect(opening).rejects.toMatchObject({ cause: { message: 'no such service' } });
    await queue.close();
  });

  test('calls connect again after it did not answer, and closes', async () => {
    let calls = 0;
    const connect = () => {
      calls += 1;
      return new Promise<never>(() => {});
    };
    const queue = createPostgresQueue({ connect, callTimeoutMs: 100 });
    await expect(queue.open(INITIAL)).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
    await expect.poll(() => queue.open(INITIAL).catch(() => calls)).toBe(2);
    expect(await queue.close()).toEqual({ returned: [], remaining: 0 });
  });

  test('survives a server that ends a connection while it is made', async () => {
    const ready = Buffer.from('5200000008000000005a0000000549', 'hex');
    const fatal = Buffer.from('SFATAL\0C57P01\0Mthe server is killed\0\0');
    const error = Buffer.alloc(5);
    error.write('E');
    error.writeInt32BE(fatal.length + 4, 1);
    const server = createServer((socket) => {
      socket.on('error', () => {});
      // One packet: pg reads the error before its caller has the connection.
      socket.once('data', () => socket.end(Buffer.concat([ready, error, fatal])));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const queue = createPostgresQueue({ connection: { host: '127.0.0.1', port, ssl: false } });
    await expect(queue.open(INITIAL)).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
    await queue.close();
  });

  test('queries a pool outside the requests of the host, and again after a deadlock or a lost statement', async () => {
    const names: (string | undefined)[] = [];
    const backlog = { pendingMessages: 3, dueMessages: 2, lastSequence: 7 };
    const deadlock = Object.assign(new Error('deadlock'), { code: '40P01' });
    let isDeadlocked = true;
    const query = async ({ text, name }: { text: string; name?: string }) => {
      expect(isOwnWork()).toBe(true);
      names.push(name);
      if (text.includes('.stats') && isDeadlocked) {
        isDeadlocked = false;
        throw deadlock;
      }
      const settings = {
        version: 1,
        fsync: 'on',
        commit: 'on',
        standbys: '',
        isolation: 'read committed',
        read_only: 'off',
        encoding: 'UTF8',
      };
      const answer = JSON.stringify(backlog);
      if (text.includes('.backlog')) return Promise.resolve({ rows: [{ answer }] });
      return Promise.resolve({ rows: text.includes('current_setting') ? [settings] : [] });
    };
    for (const transactionPooling of [false, true]) {
      const client = { query, on: () => {}, off: () => {}, release: () => {} };
      const pool = { connect: () => Promise.resolve(client), options: {} };
      const queue = createPostgresQueue({ pool, transactionPooling, listen: false });
      expect(await queue.open(INITIAL)).toEqual(backlog);
      expect(queue.durability).toBe('server');
      isDeadlocked = true;
      expect((await queue.stats()).accepted).toBe(0);
    }
    const stats = 'security_events.stats';
    const prepared = [undefined, 'security_events.backlog', stats, stats];
    expect(names).toEqual([...prepared, ...prepared.map(() => undefined)]);
  });
});
