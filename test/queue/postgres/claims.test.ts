/** Claims, and flushes of counters, on a fake database. */
import { describe, expect, test } from 'vitest';
import { Claims, claimName } from '../../../src/queue/postgres/claims.ts';
import { CounterFlusher } from '../../../src/queue/postgres/counter-flusher.ts';
import type { Database } from '../../../src/queue/postgres/database.ts';
import type { Claim } from '../../../src/queue/queue.ts';
import { nextTurn } from '../../../src/runtime/yield-to-event-loop.ts';
import { INITIAL, LAST, REQUEST } from '../conformance/trial.ts';

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

interface Call {
  readonly count?: number;
  readonly claims?: readonly object[];
}

/** Claims of a database that answers at once, and the number of claims in each of its calls. */
function claiming() {
  const counts: number[] = [];
  const database = {
    call: async (_: string, { count = 0, claims = [] }: Call) => {
      counts.push(count + claims.length);
      if (count === 0) return await Promise.resolve(claims.map(() => ({ size: 0 })));
      // The first claim shows that claims are small.
      const made = counts.length === 1 ? [{ number: 1, claim: 2 }] : [];
      return await Promise.resolve({ claims: made, dueIn: 1000, hasDeltas: false });
    },
    // A header of 19 bytes, and the end: no messages.
    copy: async () => await Promise.resolve(Buffer.from([...Buffer.alloc(19), 255, 255])),
  } as unknown as Database;
  const { flusher } = flushing();
  const times = { callTimeoutMs: 1000, monotonicMs: () => 0 };
  return { counts, claims: new Claims({ database, flusher, maxConnections: 1, ...times }) };
}

test('small claims share a transaction if their requests are equal, each in its own object', async () => {
  const { claims, counts } = claiming();
  await claims.claim(REQUEST);
  const requests = [REQUEST, { ...REQUEST }, { ...REQUEST, ofHealth: ['untried'] as const }];
  const answers = await Promise.all(requests.map((request) => claims.claim(request)));
  expect(answers).toEqual(requests.map(() => ({ dueInMs: 1000 })));
  expect(counts).toEqual([1, 2, 1]);
});

test('claims that are settled during a transaction share the next one', async () => {
  const { claims, counts } = claiming();
  const given = ['1-1', '2-2', '3-3'].map((id) => ({ id, state: INITIAL }) as Claim);
  const settled = await Promise.all(given.map((claim) => claims.settle(claim, [], LAST)));
  expect(settled).toEqual(given.map(() => 'settled'));
  expect(counts).toEqual([1, 2]);
});

test.each(['', '1-2;', `1-${'9'.repeat(19)}`])('no claim has the id %j', (id) => {
  expect(claimName({ id })).toBeUndefined();
});
