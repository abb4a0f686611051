/** What is asked for at once is bounded by the bytes that are to come. */
import { expect, test } from 'vitest';
import { Unanswered } from '../../../src/queue/jetstream/jetstream-failure.ts';
import { ReadGate } from '../../../src/queue/jetstream/read-gate.ts';
import { Store } from '../../../src/queue/jetstream/store.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { deferred } from '../../helpers/deferred.ts';

const KIB = 1024;

/** Asked all at once, each answered with so many bytes, or not at all; in which order, and how many at the same time. */
async function asked(gate: ReadGate, answers: readonly { bytes: number; known?: number }[]) {
  const order: number[] = [];
  const now = new Set<number>();
  let most = 0;
  await Promise.all(
    answers.map(async ({ bytes, known }, index) => {
      const ask = async () => {
        order.push(index);
        now.add(index);
        most = Math.max(most, now.size);
        await new Promise(setImmediate);
        now.delete(index);
        if (bytes < 0) throw new Error('no answer');
        return { data: { length: bytes } };
      };
      const answer = await gate.pass(ask, known).catch((error: Error) => error.message);
      expect(answer).toEqual(bytes < 0 ? 'no answer' : { data: { length: bytes } });
    }),
  );
  return { order, most };
}

const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

const inOrder = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const gateOf = (largestBytes: number, maxBytes = 32 * KIB): ReadGate =>
  new ReadGate({ clock: createFakeClock(), callTimeoutMs: 1000, largestBytes, maxBytes });

test('so many are under way as fit, where their sizes are known', async () => {
  const answers = times(20, { bytes: 10 * KIB, known: 10 * KIB });
  expect(await asked(gateOf(1000 * KIB), answers)).toEqual({ order: inOrder(20), most: 3 });
});

test('one that is larger than all that may be under way goes alone, and nobody passes it', async () => {
  const [small, large] = [
    { bytes: KIB, known: KIB },
    { bytes: 99 * KIB, known: 99 * KIB },
  ];
  const answers = [small, small, large, small];
  expect(await asked(gateOf(KIB), answers)).toEqual({ order: inOrder(4), most: 2 });
});

test('those of unknown size count as the largest, whatever came before', async () => {
  const gate = gateOf((10 * KIB) / 3);
  expect(await asked(gate, times(100, { bytes: 1 }))).toEqual({ order: inOrder(100), most: 8 });
  expect(await asked(gate, times(100, { bytes: 10 * KIB }))).toMatchObject({ most: 8 });
  // Nothing is left of what was under way: all of it fits.
  expect(await asked(gate, [{ bytes: 1, known: 32 * KIB }])).toEqual({ order: [0], most: 1 });
});

test('what is not answered makes room', async () => {
  const gate = gateOf(10 * KIB);
  expect(await asked(gate, times(20, { bytes: -1 }))).toEqual({ order: inOrder(20), most: 3 });
  expect(await asked(gate, times(4, { bytes: 10 * KIB }))).toMatchObject({ most: 3 });
});

test('who has waited as long as a call may is not made to wait for an answer as well', async () => {
  const clock = createFakeClock();
  const gate = new ReadGate({ clock, callTimeoutMs: 1000, largestBytes: KIB, maxBytes: 2 * KIB });
  const { promise, reject } = deferred();
  const first = gate.pass(() => promise);
  let isAsked = false;
  const second = gate.pass(async () => {
    isAsked = true;
  });
  await new Promise(setImmediate);
  clock.elapse(1000);
  reject(new Error('no answer'));
  await expect(first).rejects.toThrow('no answer');
  await expect(second).rejects.toBeInstanceOf(Unanswered);
  expect(isAsked).toBe(false);
  expect(await gate.pass(async () => 7)).toBe(7);
});

/** How many requests a store has under way at most, each of which is answered with so many bytes. */
async function underWay(read: (store: Store, sequence: number) => Promise<unknown>) {
  let [now, most] = [0, 0];
  const ask = async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise(setImmediate);
    now -= 1;
    return { data: Buffer.from('{}') };
  };
  const surroundings = { clock: createFakeClock(), callTimeoutMs: 1000, maxPayload: MIB };
  const store = new Store({ ask } as never, {} as never, { ...surroundings, stamp: (ms) => ms });
  await Promise.all(inOrder(100).map((sequence) => read(store, sequence)));
  return most;
}

const MIB = KIB * KIB;

test.each([
  ['get, of unknown size', (store: Store, at: number) => store.get('s', at), 17],
  ['get, small', (store: Store, at: number) => store.get('s', at, 10), 100],
  ['get, large', (store: Store, at: number) => store.get('s', at, 3 * MIB), 5],
  ['glance, of unknown size', (store: Store, at: number) => store.glance('s', at), 17],
  ['glance, small', (store: Store, at: number) => store.glance('s', at, 10), 100],
  ['get, of two streams', (store: Store, at: number) => store.get(`${at % 2}`, at), 34],
])('of a stream 24 MiB are read at once: %s', async (_, read, most) => {
  expect(await underWay(read)).toBe(most);
});
