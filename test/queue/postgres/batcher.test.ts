/** Calls that share a transaction. */
import { describe, expect, test } from 'vitest';
import { SecurityEventError } from '../../../src/errors.ts';
import { Batcher } from '../../../src/queue/postgres/batcher.ts';
import {
  type EnqueueCall,
  enqueueBatcher,
  resultsOfCalls,
} from '../../../src/queue/postgres/enqueue.ts';
import { failure } from '../../../src/queue/postgres/failure.ts';
import type { EnqueueResult } from '../../../src/queue/queue.ts';
import { nextTurn } from '../../../src/runtime/yield-to-event-loop.ts';
import { entryOf, failedWith, manyOf } from '../conformance/trial.ts';

const failed = (code: string): SecurityEventError =>
  failure(Object.assign(new Error('why'), { code }));

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
    ['a value is refused', failed('54000')],
    ['a row is locked', failed('55P03')],
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
    const error = failed('ECONNRESET');
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
    await expect(second).rejects.toEqual(failedWith('this call was not made'));
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

const callOf = (count: number, delayMs = 0): EnqueueCall => ({
  entries: manyOf('one', count),
  delayMs,
});

describe('calls of enqueue', () => {
  test('go in batches of 2000 messages and 8 MiB, unless one call has more', async () => {
    const entries = [entryOf('one', { bytes: Buffer.alloc(5 * 1024 * 1024) })];
    const large = { entries, delayMs: 0 };
    const calls = [callOf(1), callOf(1999), callOf(1), callOf(5000), callOf(1), large, large];
    expect(await sizesOf(calls)).toEqual([1, 2000, 5000, 2, 1]);
  });

  test('go in batches with one delay', async () => {
    const calls = [0, 0, 0, 50, 50, 0].map((delayMs) => callOf(1, delayMs));
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
