import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Origin } from '../../../src/queue/queue.ts';
import { type Fate, Tracker } from '../../../src/webhook/engine/tracker.ts';

const NONE = { delivered: 0, dead: 0, discarded: 0 };

/** A tracker that was told to expect so many messages, and their origins. */
function expecting(count: number): { tracker: Tracker; origins: [Origin, ...Origin[]] } {
  const tracker = new Tracker('s-1', true);
  const origins = Array.from({ length: count }, () => tracker.expect());
  return { tracker, origins: origins as [Origin, ...Origin[]] };
}

const watching = (tracker: Tracker) => {
  const watch = tracker.watch();
  return { done: watch.done, counts: () => watch.counts() };
};

/** Whether a promise is settled by now. */
const isDone = async (done: Promise<void>): Promise<boolean> =>
  await Promise.race([done.then(() => true), Promise.resolve().then(() => false)]);

/** As a queue tells of what was replayed. */
const REPLAYED: Origin = { senderId: '', number: 0 };

describe('a tracker', () => {
  test('numbers what it expects, in the name of its sender', () => {
    const { tracker, origins } = expecting(2);
    expect(origins).toEqual([
      { senderId: 's-1', number: 1 },
      { senderId: 's-1', number: 2 },
    ]);
    expect([tracker.pending, tracker.lastNumber]).toEqual([2, 2]);
  });

  test('begins with nothing', () => {
    const tracker = new Tracker('s-1', true);
    expect([tracker.pending, tracker.lastNumber]).toEqual([0, 0]);
  });

  test.each(['delivered', 'dead', 'discarded'] as const)('forgets what is %s', (fate) => {
    const { tracker, origins } = expecting(2);
    tracker.settled(origins[0], fate);
    expect([tracker.pending, tracker.lastNumber]).toEqual([1, 2]);
  });

  test('forgets what was not accepted after all', () => {
    const { tracker, origins } = expecting(2);
    tracker.forget(origins[0]);
    expect([tracker.pending, tracker.lastNumber]).toEqual([1, 2]);
  });

  test('takes no notice of what other senders have accepted', () => {
    const { tracker } = expecting(1);
    tracker.settled({ senderId: 's-2', number: 1 }, 'delivered');
    expect(tracker.pending).toBe(1);
  });

  test('takes no notice of what was replayed: it has been settled before', () => {
    const { tracker } = expecting(1);
    tracker.settled(REPLAYED, 'delivered');
    expect(tracker.pending).toBe(1);
  });

  test('waits for nothing where another process delivers', async () => {
    const tracker = new Tracker('s-1', false);
    const origin = tracker.expect();
    tracker.forget(tracker.expect());
    expect([origin.number, tracker.pending, tracker.lastNumber]).toEqual([1, 0, 2]);
    expect(await isDone(tracker.watch().done)).toBe(true);
  });

  test('has nothing pending there, whatever it is told of, either', async () => {
    const tracker = new Tracker('s-1', false);
    const fates = tracker.tally();
    tracker.settled(tracker.expect(), 'discarded');
    expect(tracker.pending).toBe(0);
    expect(await isDone(tracker.watch().done)).toBe(true);
    expect(fates()).toEqual({ ...NONE, discarded: 1 });
  });
});

describe('a tally', () => {
  test('counts what is settled after it, whenever it was accepted, and nothing else', () => {
    const { tracker, origins } = expecting(4);
    tracker.settled(origins[0], 'dead');
    const fates = tracker.tally();
    expect(fates()).toEqual(NONE);
    tracker.settled(origins[1] as Origin, 'delivered');
    tracker.forget(origins[2] as Origin);
    tracker.settled(REPLAYED, 'delivered');
    const before = fates();
    tracker.settled(tracker.expect(), 'dead');
    tracker.settled(origins[3] as Origin, 'discarded');
    expect(before).toEqual({ ...NONE, delivered: 1 });
    expect(fates()).toEqual({ delivered: 1, dead: 1, discarded: 1 });
  });
});

describe('a watch', () => {
  test('is over at once where nothing is pending', async () => {
    const { done, counts } = watching(new Tracker('s-1', true));
    expect(await isDone(done)).toBe(true);
    expect(counts()).toEqual({ ...NONE, pending: 0 });
  });

  test('is over when all that was accepted before it is settled', async () => {
    const { tracker, origins } = expecting(3);
    const { done, counts } = watching(tracker);
    expect(counts()).toEqual({ ...NONE, pending: 3 });
    tracker.settled(origins[2] as Origin, 'delivered');
    tracker.settled(origins[0], 'dead');
    expect(await isDone(done)).toBe(false);
    expect(counts()).toEqual({ delivered: 1, dead: 1, discarded: 0, pending: 1 });
    tracker.settled(origins[1] as Origin, 'discarded');
    expect(await isDone(done)).toBe(true);
    expect(counts()).toEqual({ delivered: 1, dead: 1, discarded: 1, pending: 0 });
  });

  test('does not wait for what is accepted later, nor count it', async () => {
    const { tracker, origins } = expecting(1);
    const { done, counts } = watching(tracker);
    const later = tracker.expect();
    tracker.settled(later, 'delivered');
    expect(await isDone(done)).toBe(false);
    expect(counts()).toEqual({ ...NONE, pending: 1 });
    tracker.settled(origins[0], 'delivered');
    expect(await isDone(done)).toBe(true);
    expect(counts()).toEqual({ ...NONE, delivered: 1, pending: 0 });
  });

  test('does not count what was settled before it, and nothing that was not accepted', async () => {
    const { tracker, origins } = expecting(3);
    tracker.settled(origins[0], 'delivered');
    const { done, counts } = watching(tracker);
    tracker.forget(origins[1] as Origin);
    expect(counts()).toEqual({ ...NONE, pending: 1 });
    tracker.settled(origins[2] as Origin, 'delivered');
    expect(await isDone(done)).toBe(true);
    expect(counts()).toEqual({ ...NONE, delivered: 1, pending: 0 });
  });

  test('goes on beside others, each with its own', async () => {
    const { tracker, origins } = expecting(1);
    const first = tracker.watch();
    const later = tracker.expect();
    const second = tracker.watch();
    tracker.settled(origins[0], 'delivered');
    expect([await isDone(first.done), await isDone(second.done)]).toEqual([true, false]);
    tracker.settled(later, 'dead');
    expect(await isDone(second.done)).toBe(true);
    expect(first.counts()).toEqual({ ...NONE, delivered: 1, pending: 0 });
    expect(second.counts()).toEqual({ ...NONE, delivered: 1, dead: 1, pending: 0 });
  });

  test('can be ended, and others go on: what was left stays told', async () => {
    const { tracker, origins } = expecting(2);
    const first = tracker.watch();
    const second = tracker.watch();
    tracker.settled(origins[0], 'delivered');
    first.end();
    expect([await isDone(first.done), await isDone(second.done)]).toEqual([true, false]);
    tracker.settled(origins[1] as Origin, 'delivered');
    expect(first.counts()).toEqual({ ...NONE, delivered: 1, pending: 1 });
    expect(second.counts()).toEqual({ ...NONE, delivered: 2, pending: 0 });
    first.end();
  });

  test('has counts that add up, whatever is accepted and settled in whatever order', async () => {
    const fates = fc.constantFrom<Fate>('delivered', 'dead', 'discarded');
    const steps = fc.array(fc.record({ isNew: fc.boolean(), which: fc.nat(), fate: fates }));
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 8 }), steps, async (count, happenings) => {
        const { tracker, origins } = expecting(count);
        const open = new Set<Origin>(origins);
        const watched = new Set<Origin>(origins);
        const { done, counts } = watching(tracker);
        for (const { isNew, which, fate } of happenings) {
          const origin = [...open][which % Math.max(1, open.size)];
          if (isNew) open.add(tracker.expect());
          else if (origin !== undefined) {
            tracker.settled(origin, fate);
            open.delete(origin);
            watched.delete(origin);
          }
          const { delivered, dead, discarded, pending } = counts();
          expect(pending).toBe(watched.size);
          expect(delivered + dead + discarded + pending).toBe(count);
          expect(tracker.pending).toBe(open.size);
        }
        expect(await isDone(done)).toBe(watched.size === 0);
      }),
    );
  });
});
