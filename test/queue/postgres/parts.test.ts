/** What the PostgreSQL queue decides without a server. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SecurityEventError } from '../../../src/errors.ts';
import { Batcher } from '../../../src/queue/postgres/batcher.ts';
import { Claims, claimName } from '../../../src/queue/postgres/claims.ts';
import { CounterFlusher } from '../../../src/queue/postgres/counter-flusher.ts';
import type { Database } from '../../../src/queue/postgres/database.ts';
import {
  type EnqueueCall,
  enqueueBatcher,
  resultsOfCalls,
} from '../../../src/queue/postgres/enqueue.ts';
import { failure } from '../../../src/queue/postgres/failure.ts';
import { readQueueOptions } from '../../../src/queue/postgres/options.ts';
import { PostgresQueue } from '../../../src/queue/postgres/postgres-queue.ts';
import { durabilityOf } from '../../../src/queue/postgres/schema.ts';
import { loadPg } from '../../../src/queue/postgres/servers.ts';
import { createPostgresQueue } from '../../../src/queue/postgres.ts';
import type { EnqueueResult } from '../../../src/queue/queue.ts';
import { toWhole } from '../../../src/queue/stored-values.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { isOwnWork } from '../../../src/runtime/untraced.ts';
import { nextTurn } from '../../../src/runtime/yield-to-event-loop.ts';
import { entryOf, INITIAL, REQUEST } from '../conformance/trial.ts';

const connection = 'postgres://queue@localhost/events';

const thrown = (code: string | undefined, message = 'why'): SecurityEventError =>
  failure(Object.assign(new Error(message), code === undefined ? {} : { code }));

const failToConnect = (): never => {
  throw new Error('no such service');
};

const notInstalled = () => Promise.reject(new Error('no such module'));

describe('the options of a PostgreSQL queue', () => {
  test.each<[object, readonly string[], string]>([
    [{}, ['connection'], 'expected exactly one of connection, connect and pool'],
    [{ connection, pool: { query: 1, connect: 1 } }, ['connection'], 'exactly one of'],
    [{ connection, connect: () => connection }, ['connection'], 'exactly one of'],
    [{ connect: connection }, ['connect'], 'a function'],
    [{ connection: [connection, ''] }, ['connection'], 'an object or a list of them'],
    [{ connection: '' }, ['connection'], 'a connection string, an object'],
    [{ connection: [] }, ['connection'], 'a connection string, an object'],
    [{ pool: { query: 1 } }, ['pool'], 'a pool of pg'],
    [{ connection, schema: '1st' }, ['schema'], 'does not begin with a digit'],
    [{ connection, schema: 'a"b' }, ['schema'], 'letters, digits and _'],
    [{ connection, schema: 'a'.repeat(64) }, ['schema'], 'letters, digits and _'],
    [{ connection, maxPendingMessages: 0 }, ['maxPendingMessages'], 'an integer from 1'],
    [{ connection, maxPendingBytes: 0.5 }, ['maxPendingBytes'], 'an integer from 1'],
    [{ connection, maxConnections: 1001 }, ['maxConnections'], 'an integer from 1 to 1000'],
    [{ connection, pollMs: 9 }, ['pollMs'], 'an integer from 10'],
    [{ connection, callTimeoutMs: 99 }, ['callTimeoutMs'], 'an integer from 100'],
    [{ connection, listen: 1 }, ['listen'], 'true or false'],
    [{ connection, transactionPooling: 'yes' }, ['transactionPooling'], 'true or false'],
    [
      { connection, transactionPooling: true, listen: true },
      ['listen'],
      'expected listen to be false',
    ],
    [{ connection, lease: 1 }, ['lease'], 'unknown key "lease"'],
  ])('refuse %j', (options, path, text) => {
    expect(() => createPostgresQueue(options)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path,
        message: expect.stringContaining(text) as string,
      }),
    );
  });

  test('have defaults', () => {
    expect(readQueueOptions({ connection })).toEqual({
      connection,
      schema: 'security_events',
      callTimeoutMs: 30_000,
      transactionPooling: false,
      maxPendingMessages: 10_000_000,
      maxPendingBytes: 10_737_418_240,
      maxConnections: 10,
      listen: true,
      pollMs: 1000,
    });
    expect(readQueueOptions({ connection, transactionPooling: true }).listen).toBe(false);
  });
});

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

describe('an error of PostgreSQL', () => {
  test.each([
    ['53300', 'PostgreSQL answered 53300'],
    ['42P01', 'the schema is missing'],
    ['42883', 'the schema is missing'],
    ['3F000', 'the schema is missing'],
    ['08P01', '08P01; behind a proxy that pools transactions set transactionPooling: true'],
    ['42P05', 'answered 42P05; behind a proxy'],
    ['26000', 'answered 26000; behind a proxy'],
    ['ECONNREFUSED', 'no connection (ECONNREFUSED)'],
    [undefined, 'PostgreSQL did not answer'],
  ])('of code %s has a message that says what to do', (code, text) => {
    const error = thrown(code);
    expect(error).toMatchObject({ code: 'ERR_QUEUE_FAILED', cause: { message: 'why' } });
    expect(error.message).toContain(text);
    expect((error.cause as { code?: string }).code).toBe(code);
  });

  test.each(['22P02', '23505'])(
    'with the code %s loses the value that its message quotes',
    (code) => {
      const { cause } = thrown(code, 'invalid: "payload"');
      expect(cause).toMatchObject({ message: 'a value was refused', code });
    },
  );

  test('about a connection string does not show it', () => {
    const error = failure(
      Object.assign(new Error('Invalid URL'), { code: 'ERR_INVALID_URL', input: 'secret' }),
    );
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION', path: ['connection'] });
    expect(error.cause).toBeUndefined();
  });
});

type Calls = readonly (readonly string[])[];

interface Batch {
  readonly calls: Calls;
  readonly timeoutMs: number;
  readonly end: (results?: readonly string[]) => void;
  readonly fail: (error: unknown) => void;
}

/** Each call is a list of names. The test ends each transaction, and moves the clock. */
function batching({ maxBatches = 1, isGathering = true } = {}) {
  const batches: Batch[] = [];
  let nowMs = 0;
  const batcher = new Batcher<readonly string[], string>({
    run: (calls, timeoutMs) =>
      new Promise((resolve, fail) => {
        const end = (results: readonly string[] = calls.map(String)): void => resolve(results);
        batches.push({ calls, timeoutMs, end, fail });
      }),
    sizeOf: (names) => names.length,
    maxSize: 4,
    keyOf: ([name = '']) => name.at(0),
    maxBatches,
    isGathering,
    callTimeoutMs: 1000,
    monotonicMs: () => nowMs,
  });
  const advance = (ms: number): void => {
    nowMs += ms;
  };
  const shape = () => batches.map(({ calls }) => calls.map(String).join(' '));
  const batch = async (index: number): Promise<Batch> => {
    while (batches[index] === undefined) await nextTurn();
    return batches[index];
  };
  /** Begins calls of these names, and waits until what can begin has begun. */
  const begin = async (...calls: Calls): Promise<Promise<string>[]> => {
    const begun = calls.map((call) => batcher.run(call));
    for (const one of begun) one.catch(() => {});
    await nextTurn();
    return begun;
  };
  return { begin, batch, shape, advance };
}

describe('calls during a transaction', () => {
  test('share the next one, and each gets its own result', async () => {
    const { begin, batch, shape } = batching();
    const first = await begin(['a1'], ['a2']);
    const later = await begin(['a3'], ['a4', 'a5'], ['a6']);
    expect(shape()).toEqual(['a1 a2']);
    (await batch(0)).end(['one', 'two']);
    expect(await Promise.all(first)).toEqual(['one', 'two']);
    expect((await batch(1)).calls).toHaveLength(3);
    (await batch(1)).end(['three', 'four', 'five']);
    expect(await Promise.all(later)).toEqual(['three', 'four', 'five']);
  });

  test('wait for the first one, unless calls at the same time are gathered', async () => {
    const { begin, batch, shape } = batching({ isGathering: false });
    const calls = await begin(['a1'], ['a2'], ['a3']);
    (await batch(0)).end();
    (await batch(1)).end();
    expect(await Promise.all(calls)).toEqual(['a1', 'a2', 'a3']);
    expect(shape()).toEqual(['a1', 'a2 a3']);
  });

  test('go in batches of a maximum size, unless one call has more, and of one key', async () => {
    const { begin, batch, shape } = batching();
    const large = ['a', 'a', 'a', 'a', 'a'];
    const calls = await begin(['a'], ['a', 'a', 'a'], ['a'], large, ['a'], ['b'], ['b'], ['a']);
    for (let index = 0; index < 6; index += 1) (await batch(index)).end();
    await Promise.all(calls);
    expect(shape()).toEqual(['a a,a,a', 'a', 'a,a,a,a,a', 'a', 'b b', 'a']);
  });

  test('wait for one that is not full, unless they fill one of their own', async () => {
    const { begin, batch, shape } = batching({ maxBatches: 3 });
    const full = ['a', 'a', 'a', 'a'];
    const first = await begin(['a1']);
    const second = await begin(['a2', 'a3']);
    expect(shape()).toEqual(['a1']);
    const third = await begin(['a4', 'a5']);
    expect(shape()).toEqual(['a1', 'a2,a3 a4,a5']);
    const others = await begin(full, full, ['a6']);
    expect(shape()).toEqual(['a1', 'a2,a3 a4,a5', 'a,a,a,a']);
    (await batch(1)).end();
    await Promise.all([...second, ...third]);
    expect(shape()).toEqual(['a1', 'a2,a3 a4,a5', 'a,a,a,a', 'a,a,a,a']);
    (await batch(2)).end();
    await others[0];
    expect(shape()).toHaveLength(4);
    (await batch(0)).end();
    await first[0];
    expect(shape().slice(4)).toEqual(['a6']);
    (await batch(3)).end();
    (await batch(4)).end();
    await Promise.all(others);
  });

  test.each([
    ['the queue is full', new SecurityEventError('ERR_QUEUE_FULL')],
    ['a value is refused', thrown('54000')],
    ['a row is locked', thrown('55P03')],
  ])('go one by one when %s, since one of them may be at fault', async (_, error) => {
    const { begin, batch, shape } = batching();
    const calls = await begin(['a1'], ['a2']);
    const later = await begin(['a3'], ['a4']);
    (await batch(0)).fail(error);
    (await batch(1)).fail(error);
    await expect(calls[0]).rejects.toBe(error);
    (await batch(2)).end();
    expect(await calls[1]).toBe('a2');
    (await batch(3)).end();
    expect(await Promise.all(later)).toEqual(['a3', 'a4']);
    expect(shape()).toEqual(['a1 a2', 'a1', 'a2', 'a3 a4']);
  });

  test('all fail when there is no connection', async () => {
    const { begin, batch, shape } = batching();
    const calls = await begin(['a1'], ['a2']);
    const error = thrown('ECONNRESET');
    (await batch(0)).fail(error);
    expect(await Promise.allSettled(calls)).toEqual(
      calls.map(() => ({ status: 'rejected', reason: error })),
    );
    expect(shape()).toEqual(['a1 a2']);
  });

  test('are rejected when they have waited too long, and others keep their remaining time', async () => {
    const { begin, batch, shape, advance } = batching();
    const [first] = await begin(['a1']);
    advance(50);
    const [second] = await begin(['a2']);
    advance(500);
    const [third] = await begin(['a3']);
    advance(450);
    const error = new SecurityEventError('ERR_QUEUE_FAILED');
    (await batch(0)).fail(error);
    await expect(first).rejects.toBe(error);
    await expect(second).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('this call was not made') as string,
    });
    expect((await batch(1)).timeoutMs).toBe(550);
    (await batch(1)).end();
    expect(await third).toBe('a3');
    expect(shape()).toEqual(['a1', 'a3']);
  });
});

/** Calls at the same time; the sizes of their transactions. */
const sizesOf = async (calls: readonly EnqueueCall[]): Promise<number[]> => {
  const sizes: number[] = [];
  const run = async (batch: readonly EnqueueCall[]): Promise<EnqueueResult[]> => {
    sizes.push(batch.flatMap(({ entries }) => entries).length);
    return await Promise.resolve(batch.map(() => ({ sequences: [], closed: [] })));
  };
  const batcher = enqueueBatcher({ run, callTimeoutMs: 1000, monotonicMs: () => 0 });
  await Promise.all(calls.map((call) => batcher.run(call)));
  return sizes;
};

const callOf = (count: number): EnqueueCall => ({
  entries: Array.from({ length: count }, () => entryOf('one')),
  delayMs: 0,
});

describe('calls of enqueue', () => {
  test('go in batches of 2000 messages and 8 MiB, unless one call has more', async () => {
    const entries = [entryOf('one', { bytes: Buffer.alloc(5 * 1024 * 1024) })];
    const large = { entries, delayMs: 0 };
    const calls = [callOf(1), callOf(1999), callOf(1), callOf(5000), callOf(1), large, large];
    expect(await sizesOf(calls)).toEqual([1, 2000, 5000, 2, 1]);
  });

  test('go in batches with one delay', async () => {
    const calls = [0, 0, 0, 50, 50, 0].map((delayMs) => ({ entries: [entryOf('one')], delayMs }));
    expect(await sizesOf(calls)).toEqual([1, 2, 2, 1]);
  });

  test('get their own sequences and closed applications', () => {
    const calls = [[entryOf('two'), entryOf('three')], [entryOf('three')]].map((entries) => ({
      entries,
      delayMs: 0,
    }));
    expect(resultsOfCalls(calls, { sequences: [5, 7], closed: ['two'] })).toEqual([
      { sequences: [5], closed: ['two'] },
      { sequences: [7], closed: [] },
    ]);
  });
});

/** The test ends each flush. */
function flushing() {
  const flushes: { readonly notifies: boolean; readonly end: (error?: Error) => void }[] = [];
  const flusher = new CounterFlusher(
    (notifies) =>
      new Promise<void>((resolve, reject) => {
        const end = (error?: Error): void => (error === undefined ? resolve() : reject(error));
        flushes.push({ notifies, end });
      }),
    { callTimeoutMs: 1000, monotonicMs: () => 0 },
  );
  const flush = async (index: number) => {
    while (flushes[index] === undefined) await nextTurn();
    return flushes[index];
  };
  return { flusher, flush, flushes };
}

describe('a counter flusher', () => {
  test('flushes once for all requests that arrive meanwhile, and after a failure', async () => {
    const { flusher, flush, flushes } = flushing();
    await flusher.done();
    flusher.request(true);
    const first = await flush(0);
    flusher.request(false);
    flusher.request(false);
    await nextTurn();
    expect(flushes).toHaveLength(1);
    first?.end(new Error('no connection'));
    (await flush(1))?.end();
    await flusher.done();
    expect(flushes.map(({ notifies }) => notifies)).toEqual([true, false]);
  });

  test('is done when everything requested before is flushed, whatever is requested later', async () => {
    const { flusher, flush, flushes } = flushing();
    flusher.request(true);
    await flush(0);
    flusher.request(true);
    const done = flusher.done();
    (await flush(0))?.end();
    await flush(1);
    flusher.request(true);
    (await flush(1))?.end();
    await done;
    expect(flushes).toHaveLength(3);
    (await flush(2))?.end();
  });
});

test('small claims share a transaction if their requests are equal, each in its own object', async () => {
  const counts: number[] = [];
  const database = {
    call: async (_: string, { count }: { readonly count: number }) => {
      counts.push(count);
      // The first claim shows that claims are small.
      const claims = counts.length === 1 ? [{ number: 1, claim: 2 }] : [];
      return await Promise.resolve({ claims, dueIn: 1000, hasDeltas: false });
    },
    // A header of 19 bytes, and the end: no messages.
    copy: async () => await Promise.resolve(Buffer.from([...Buffer.alloc(19), 255, 255])),
  } as unknown as Database;
  const { flusher } = flushing();
  const times = { callTimeoutMs: 1000, monotonicMs: () => 0 };
  const claims = new Claims({ database, flusher, maxConnections: 1, ...times });
  await claims.claim(REQUEST);
  const requests = [REQUEST, { ...REQUEST }, { ...REQUEST, ofHealth: ['untried'] as const }];
  const answers = await Promise.all(requests.map((request) => claims.claim(request)));
  expect(answers).toEqual(requests.map(() => ({ dueInMs: 1000 })));
  expect(counts).toEqual([1, 2, 1]);
});

test.each(['', '1-2;', `1-${'9'.repeat(19)}`])('no claim has the id %j', (id) => {
  expect(claimName({ id })).toBeUndefined();
});

describe('a queue', () => {
  const parts = { clock: systemClock, newId: () => 'id' };

  test('names the missing package and how to install it', async () => {
    const queue = new PostgresQueue(readQueueOptions({ connection }), {
      ...parts,
      load: notInstalled,
    });
    expect(queue.durability).toBe('process-crash');
    await expect(queue.open(INITIAL)).rejects.toMatchObject({
      code: 'ERR_PEER_MISSING',
      message: expect.stringContaining('npm install pg') as string,
      cause: { message: 'no such module' },
    });
    await expect(queue.enqueue([])).rejects.toMatchObject({ code: 'ERR_QUEUE_CLOSED' });
    expect(await queue.close()).toEqual({ returned: [], remaining: 0 });
  });

  test('does not open if connect returns no server, rather than use the defaults of pg', async () => {
    const options = readQueueOptions({ connect: () => undefined });
    const queue = new PostgresQueue(options, { ...parts, load: loadPg });
    await expect(queue.open(INITIAL)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('connect returned neither') as string,
    });
    await queue.close();
  });

  test('does not say that PostgreSQL is at fault if connect fails', async () => {
    const queue = new PostgresQueue(readQueueOptions({ connect: failToConnect }), {
      ...parts,
      load: loadPg,
    });
    await expect(queue.open(INITIAL)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('The queue failed: connect failed. ') as string,
      cause: { message: 'no such service' },
    });
    await queue.close();
  });

  test('calls connect again after it did not answer, and closes', async () => {
    let calls = 0;
    const connect = () => {
      calls += 1;
      return new Promise<never>(() => {});
    };
    const options = readQueueOptions({ connect, callTimeoutMs: 100 });
    const queue = new PostgresQueue(options, { ...parts, load: loadPg });
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
