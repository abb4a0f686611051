import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FinalState, FollowedMessage } from '../../src/delivery/settled-messages.ts';
import { Tracker } from '../../src/delivery/tracker.ts';
import type { SequenceRange } from '../../src/queue/queue.ts';
import { deferred } from '../../src/runtime/deferred.ts';

const NONE = { delivered: 0, dead: 0, discarded: 0, settledElsewhere: 0 };

/** A tracker of an empty queue. */
function emptyTracker(): Tracker {
  const tracker = new Tracker(true);
  tracker.setBacklog({ pendingMessages: 0, dueMessages: 0, lastSequence: 0 });
  return tracker;
}

const accept = (tracker: Tracker, ...sequences: readonly number[]): void =>
  tracker.beginEnqueue(sequences.length)(sequences);

/** A tracker that has accepted the sequences 1 to `count`. */
function tracking(count: number): Tracker {
  const tracker = emptyTracker();
  accept(tracker, ...Array.from({ length: count }, (_, index) => index + 1));
  return tracker;
}

/** Whether a promise is settled by now. */
const isDone = async (done: Promise<void>): Promise<boolean> =>
  await Promise.race([done.then(() => true), Promise.resolve().then(() => false)]);

/** A queue that has these messages. */
const counting =
  (...pending: readonly number[]) =>
  async (ranges: readonly SequenceRange[]): Promise<number> =>
    pending.filter((one) => ranges.some(({ from, to }) => from <= one && one <= to)).length;

describe('a tracker', () => {
  test('has no range for the backlog of an empty queue', () => {
    expect(emptyTracker().rangeCount).toBe(0);
  });

  test('counts messages from the beginning of their call', () => {
    const tracker = emptyTracker();
    const expected = tracker.beginEnqueue(2);
    expect([tracker.pending, tracker.acceptedCount]).toEqual([2, 2]);
    expected([1, 2]);
    expect([tracker.pending, tracker.acceptedCount]).toEqual([2, 2]);
  });

  test('forgets messages when their call is rejected, or their application is closed', () => {
    const tracker = emptyTracker();
    tracker.beginEnqueue(2)([]);
    expect(tracker.pending).toBe(0);
    tracker.beginEnqueue(2)([7]);
    expect(tracker.pending).toBe(1);
  });

  test('takes no notice of messages that others have accepted', () => {
    const tracker = tracking(1);
    tracker.recordSettled(2, 'delivered');
    expect(tracker.pending).toBe(1);
  });

  test('knows messages that are settled before their call has resolved', async () => {
    const tracker = emptyTracker();
    const [first, second] = [tracker.beginEnqueue(2), tracker.beginEnqueue(1)];
    const followed = [new FollowedMessage(), new FollowedMessage()];
    tracker.recordSettled(1, 'dead', 'too-large');
    tracker.recordSettled(3, 'delivered');
    second([3]);
    first([1, 2], followed);
    expect(tracker.pending).toBe(1);
    tracker.recordSettled(2, 'delivered');
    expect(await followed[0]?.ended).toEqual({ outcome: 'dead', reason: 'too-large' });
    expect(await followed[1]?.ended).toEqual({ outcome: 'delivered' });
    expect(tracker.pending).toBe(0);
  });

  test('drops what others have accepted when the calls are over', () => {
    const tracker = emptyTracker();
    const call = tracker.beginEnqueue(1);
    tracker.recordSettled(5, 'delivered');
    call([1]);
    accept(tracker, 5);
    expect(tracker.pending).toBe(2);
  });

  test('lets followed messages go: they end elsewhere', async () => {
    const tracker = emptyTracker();
    const followed = new FollowedMessage();
    tracker.beginEnqueue(1)([1], [followed]);
    tracker.endFollowed();
    expect(await followed.ended).toEqual({ outcome: 'accepted' });
  });

  test('ends a followed message whose call resolves only after the others were ended', async () => {
    const tracker = emptyTracker();
    const call = tracker.beginEnqueue(1);
    tracker.endFollowed();
    const followed = new FollowedMessage();
    call([1], [followed]);
    expect(await Promise.race([followed.ended, Promise.resolve('pending')])).toEqual({
      outcome: 'accepted',
    });
  });

  test('waits for nothing if another process delivers', async () => {
    const tracker = new Tracker(false);
    const followed = new FollowedMessage();
    tracker.beginEnqueue(2)([1, 2], [followed]);
    tracker.beginEnqueue(1)([]);
    expect([tracker.pending, tracker.acceptedCount]).toEqual([0, 3]);
    expect(await followed.ended).toEqual({ outcome: 'accepted' });
    expect(await isDone(tracker.opened)).toBe(true);
    expect(await isDone(tracker.watch().done)).toBe(true);
  });

  test('has nothing pending then, after any settlements', async () => {
    const tracker = new Tracker(false);
    tracker.setBacklog({ pendingMessages: 3, dueMessages: 3, lastSequence: 3 });
    tracker.beginEnqueue(1)([4]);
    tracker.recordSettled(4, 'discarded');
    expect([tracker.pending, tracker.awaitedCount()]).toEqual([0, 0]);
    expect(await isDone(tracker.watch().done)).toBe(true);
    expect(tracker.settledCounts).toEqual({ delivered: 0, dead: 0, discarded: 1 });
  });
});

test('the counts of a tracker hold every message that was settled here, of any sender', () => {
  const tracker = tracking(3);
  tracker.recordSettled(1, 'dead');
  const before = tracker.settledCounts;
  tracker.recordSettled(2, 'delivered');
  tracker.beginEnqueue(1)([]);
  tracker.recordSettled(77, 'delivered');
  tracker.recordSettled(3, 'discarded');
  expect(before).toEqual({ delivered: 0, dead: 1, discarded: 0 });
  expect(tracker.settledCounts).toEqual({ delivered: 2, dead: 1, discarded: 1 });
});

describe('a watch', () => {
  test('does not wait for what is accepted later, even with a lower sequence', async () => {
    const tracker = emptyTracker();
    accept(tracker, 2);
    const watch = tracker.watch();
    accept(tracker, 1, 3);
    tracker.recordSettled(1, 'delivered');
    tracker.recordSettled(3, 'delivered');
    expect(await isDone(watch.done)).toBe(false);
    expect(watch.counts).toEqual({ ...NONE, pending: 1 });
    tracker.recordSettled(2, 'delivered');
    expect(await isDone(watch.done)).toBe(true);
    expect(watch.counts).toEqual({ ...NONE, delivered: 1, pending: 0 });
  });

  test('can be ended while others go on, and keeps its counts', async () => {
    const tracker = tracking(2);
    const first = tracker.watch();
    const second = tracker.watch();
    tracker.recordSettled(1, 'delivered');
    tracker.unwatch(first);
    expect([await isDone(first.done), await isDone(second.done)]).toEqual([false, false]);
    tracker.recordSettled(2, 'delivered');
    expect(first.counts).toEqual({ ...NONE, delivered: 1, pending: 1 });
    expect(second.counts).toEqual({ ...NONE, delivered: 2, pending: 0 });
  });

  test('has counts that add up after any messages in any order', async () => {
    const fates = fc.constantFrom<FinalState>('delivered', 'dead', 'discarded');
    const steps = fc.array(fc.record({ isNew: fc.boolean(), which: fc.nat(), finalState: fates }));
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 8 }), steps, async (count, happenings) => {
        const tracker = tracking(count);
        const open = new Set(Array.from({ length: count }, (_, index) => index + 1));
        const watched = new Set(open);
        let last = count;
        const { done, counts } = tracker.watch();
        for (const { isNew, which, finalState } of happenings) {
          const sequence = [...open][which % Math.max(1, open.size)];
          if (isNew) {
            last += 1 + (which % 2);
            accept(tracker, last);
            open.add(last);
          } else if (sequence !== undefined) {
            tracker.recordSettled(sequence, finalState);
            open.delete(sequence);
            watched.delete(sequence);
          }
          const { delivered, dead, discarded, pending } = counts;
          expect(pending).toBe(watched.size);
          expect(delivered + dead + discarded + pending).toBe(count);
          expect(tracker.pending).toBe(open.size);
        }
        expect(await isDone(done)).toBe(watched.size === 0);
      }),
    );
  });
});

describe('a watch of a backlog', () => {
  test('waits for as many messages as were due when the queue was opened', async () => {
    const tracker = new Tracker(true);
    expect(await isDone(tracker.opened)).toBe(false);
    tracker.setBacklog({ pendingMessages: 5, dueMessages: 2, lastSequence: 9 });
    expect(await isDone(tracker.opened)).toBe(true);
    expect([tracker.pending, tracker.awaitedCount()]).toEqual([0, 2]);
    const watch = tracker.watch();
    accept(tracker, 10);
    tracker.recordSettled(4, 'delivered');
    tracker.recordSettled(10, 'delivered');
    expect(watch.counts).toEqual({ ...NONE, delivered: 1, pending: 1 });
    tracker.recordSettled(9, 'dead');
    expect(await isDone(watch.done)).toBe(true);
    tracker.recordSettled(1, 'delivered');
    expect(watch.counts).toEqual({ ...NONE, delivered: 1, dead: 1, pending: 0 });
  });

  test('is over when another process has settled it, though others of it wait', async () => {
    const tracker = new Tracker(true);
    tracker.setBacklog({ pendingMessages: 5, dueMessages: 2, lastSequence: 5 });
    const watch = tracker.watch();
    await tracker.findSettledElsewhere(counting(1, 3, 4, 5));
    expect(watch.counts).toEqual({ ...NONE, settledElsewhere: 1, pending: 1 });
    await tracker.findSettledElsewhere(counting(3, 4, 5));
    expect(await isDone(watch.done)).toBe(true);
    expect(watch.counts).toEqual({ ...NONE, settledElsewhere: 2, pending: 0 });
  });
});

describe('messages that another process has settled', () => {
  test.each(['backlog', 'accepted'])(
    'is counted once by two questions at a time: %s',
    async (which) => {
      const tracker = which === 'accepted' ? tracking(6) : new Tracker(true);
      if (which === 'backlog') {
        tracker.setBacklog({ pendingMessages: 6, dueMessages: 6, lastSequence: 6 });
      }
      const watch = tracker.watch();
      await Promise.all([
        tracker.findSettledElsewhere(counting(1, 2, 3, 4)),
        tracker.findSettledElsewhere(counting(1, 2, 3, 4)),
      ]);
      expect(watch.counts).toEqual({ ...NONE, settledElsewhere: 2, pending: 4 });
    },
  );

  test('leaves the watch, and is counted', async () => {
    const tracker = tracking(4);
    accept(tracker, 6, 7, 9);
    const watch = tracker.watch();
    accept(tracker, 10);
    await tracker.findSettledElsewhere(counting(1, 2, 9, 10));
    expect(watch.counts).toEqual({ ...NONE, settledElsewhere: 4, pending: 3 });
    expect(tracker.pending).toBe(4);
    for (const sequence of [1, 2, 9]) tracker.recordSettled(sequence, 'delivered');
    expect(await isDone(watch.done)).toBe(true);
    expect([tracker.pending, tracker.rangeCount]).toEqual([1, 1]);
  });

  test('ends followed messages when none of their range is left', async () => {
    const tracker = emptyTracker();
    const followed = [new FollowedMessage(), new FollowedMessage()];
    tracker.beginEnqueue(2)([1, 3], followed);
    tracker.watch();
    await tracker.findSettledElsewhere(counting(3));
    expect(await followed[0]?.ended).toEqual({ outcome: 'accepted' });
    tracker.recordSettled(3, 'delivered');
    expect(await followed[1]?.ended).toEqual({ outcome: 'delivered' });
  });

  test('does not include messages that are being settled here', async () => {
    const tracker = emptyTracker();
    const followed = new FollowedMessage();
    tracker.beginEnqueue(1)([1], [followed]);
    accept(tracker, 2);
    const watch = tracker.watch();
    const answer = deferred();
    const endSettling = tracker.beginSettling();
    const settling = answer.promise.then(() => {
      tracker.recordSettled(1, 'delivered');
      endSettling();
    });
    const looking = tracker.findSettledElsewhere(counting());
    answer.resolve();
    await Promise.all([settling, looking]);
    expect(watch.counts).toEqual({ ...NONE, delivered: 1, settledElsewhere: 1, pending: 0 });
    expect(await followed.ended).toEqual({ outcome: 'delivered' });
  });

  test('is found while this sender keeps settling later messages', async () => {
    const tracker = tracking(2);
    const watch = tracker.watch();
    accept(tracker, 3, 4);
    let isFirst = true;
    const countPending = async (): Promise<number> => {
      if (isFirst) tracker.recordSettled(3, 'delivered');
      isFirst = false;
      return 0;
    };
    await tracker.findSettledElsewhere(countPending);
    expect(await isDone(watch.done)).toBe(true);
    expect(watch.counts).toEqual({ ...NONE, settledElsewhere: 2, pending: 0 });
  });

  test('is not confused with what is settled here during the question', async () => {
    const tracker = tracking(2);
    const watch = tracker.watch();
    const countPending = async (): Promise<number> => {
      tracker.recordSettled(1, 'delivered');
      return 1;
    };
    await tracker.findSettledElsewhere(countPending);
    expect(watch.counts).toEqual({ ...NONE, delivered: 1, pending: 1 });
  });

  test('is found by a round of maintenance, and later messages are not', async () => {
    const tracker = tracking(3);
    tracker.startEpoch();
    const looking = tracker.findSettledElsewhere(counting(3));
    accept(tracker, 4);
    await looking;
    expect(tracker.pending).toBe(2);
  });

  test('is not a message that a call of an earlier epoch brings while the queue is asked', async () => {
    const tracker = tracking(3);
    const end = tracker.beginEnqueue(1);
    const epoch = tracker.startEpoch();
    const looking = tracker.findSettledElsewhere(counting(1, 2, 3));
    end([4]);
    await looking;
    expect([tracker.pending, tracker.awaitedCount(epoch)]).toEqual([4, 4]);
  });

  test('is forgotten over thousands of ranges, and what is pending stays', async () => {
    const tracker = emptyTracker();
    accept(tracker, ...Array.from({ length: 2500 }, (_, index) => 2 * index + 1));
    tracker.startEpoch();
    await tracker.findSettledElsewhere(counting(3, 4, 1999));
    expect([tracker.rangeCount, tracker.pending]).toEqual([2, 2]);
  });
});
