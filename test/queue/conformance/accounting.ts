/** Laws 1, 6 and 7: all or nothing, bounds and the ledger; and who is notified of due messages. */
import { describe, expect, test } from 'vitest';
import type { Claim, MessageQueue, NothingDue } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { closeApplication, DEAD, DELIVERED, entryOf, INITIAL, isClaim, Trial } from './trial.ts';

export function describeAccounting(harness: QueueHarness): void {
  describe('a full queue', () => {
    test.each([
      { bound: 'maxPendingMessages', bounds: { maxPendingMessages: 3 }, detail: '(3)' },
      { bound: 'maxPendingBytes', bounds: { maxPendingBytes: 300 }, detail: '(300)' },
    ])('rejects all of a call that would pass $bound, and has room again', async (row) => {
      const trial = await Trial.start(harness, row.bounds);
      await trial.enqueue('one', 'a', 'b');
      await expect(trial.queue.enqueue([entryOf('one'), entryOf('two')])).rejects.toMatchObject({
        code: 'ERR_QUEUE_FULL',
        path: [row.bound],
      });
      expect(await trial.counts()).toEqual([2, 0, 2, 0]);
      expect(await trial.queue.applicationState('two')).toBeUndefined();
      await trial.enqueue('one', 'c');
      await expect(trial.enqueue('one', 'd')).rejects.toThrow(row.detail);
      // What is claimed still waits; what was settled does not.
      const claim = await trial.claim({ maxMessages: 2 });
      await expect(trial.enqueue('one', 'd')).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
      await trial.settle(claim, [DELIVERED, DEAD]);
      await trial.enqueue('one', 'd', 'e');
      expect(await trial.counts()).toEqual([5, 1, 3, 1]);
      expect((await trial.queue.stats()).pendingBytes).toBe(300);
    });

    test('counts no message that it does not store', async () => {
      const trial = await Trial.start(harness, { maxPendingMessages: 1 });
      await trial.enqueue('closed', 'a');
      await trial.settle(await trial.claim(), DELIVERED, { health: 'closed' });
      expect(await trial.queue.enqueue([])).toEqual({ sequences: [], closed: [] });
      const entries = ['closed', 'closed', 'one'].map((name) => entryOf(name));
      const { sequences, closed } = await trial.queue.enqueue(entries);
      expect([sequences.length, closed]).toEqual([1, ['closed']]);
      expect(await trial.counts()).toEqual([2, 1, 1, 0]);
    });
  });

  describe('a listener', () => {
    test.each<[string, (trial: Trial) => Promise<unknown>]>([
      ['an enqueue', (trial) => trial.enqueue('one', 'z')],
      ['a replay', (trial) => trial.queue.replayDeadLetters({})],
      ['a reopening', (trial) => trial.queue.reopenApplication('closed')],
      ['a settling', async (trial) => trial.settle(await trial.claim(), trial.retry(1))],
      ['a release', async (trial) => trial.queue.release(await trial.claim())],
    ])('is called after %s, until it unsubscribes', async (_title, act) => {
      const trial = await Trial.start(harness);
      await trial.enqueue('closed', 'a');
      await closeApplication(trial.queue);
      await trial.enqueue('dead', 'b');
      await trial.settle(await trial.claim(), DEAD);
      await trial.enqueue('one', 'c');
      let calls = 0;
      const takeOff = trial.queue.onDue(() => {
        calls += 1;
      });
      await act(trial);
      expect(calls).toBeGreaterThan(0);
      const before = calls;
      takeOff();
      takeOff();
      await trial.enqueue('one', 'd');
      expect(calls).toBe(before);
    });

    test('is called when messages are due, once for each subscription', async () => {
      const trial = await Trial.start(harness);
      const seen: (Claim | NothingDue)[] = [];
      let looking = Promise.resolve();
      // One after the other, as an engine asks: of two at once each may pass over what the other looks at.
      const look = async (): Promise<void> => {
        seen.push(await trial.queue.claim(trial.request()));
      };
      const listener = (): void => {
        looking = looking.then(look);
      };
      const takeOff = trial.queue.onDue(listener);
      const takeOffOther = trial.queue.onDue(listener);
      takeOff();
      await trial.enqueue('one', 'a');
      // A queue may call it also where it knows of nothing.
      await looking;
      // It would claim of a queue that is closed by then.
      takeOffOther();
      await looking;
      expect(seen.filter(isClaim)).toMatchObject([{ applicationId: 'one' }]);
    });
  });

  describe('close', () => {
    const CALLS: readonly [string, (queue: MessageQueue) => Promise<unknown>][] = [
      ['open', (queue) => queue.open(INITIAL)],
      ['enqueue', (queue) => queue.enqueue([entryOf('one')])],
      ['claim', (queue) => queue.claim({ ofHealth: [], maxMessages: 1, maxBytes: 1, leaseMs: 1 })],
      ['applicationState', (queue) => queue.applicationState('one')],
      ['deadLetterOlderThan', (queue) => queue.deadLetterOlderThan(0, 1)],
      ['deadLetterClosed', (queue) => queue.deadLetterClosed('one', 1)],
      ['reopenApplication', (queue) => queue.reopenApplication('one')],
      ['countPending', (queue) => queue.countPending([])],
      ['listDeadLetters', (queue) => queue.listDeadLetters({ limit: 1 })],
      ['replayDeadLetters', (queue) => queue.replayDeadLetters({})],
      ['purgeDeadLetters', (queue) => queue.purgeDeadLetters({})],
    ];

    test.each(CALLS)('makes %s reject', async (_name, call) => {
      const trial = await Trial.start(harness);
      await trial.queue.close();
      await expect(call(trial.queue)).rejects.toMatchObject({ code: 'ERR_QUEUE_CLOSED' });
    });

    test('makes settle, release and extend of a claim reject', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const claim = await trial.claim();
      await trial.queue.close();
      const closed = { code: 'ERR_QUEUE_CLOSED' };
      await expect(trial.settle(claim, DELIVERED)).rejects.toMatchObject(closed);
      await expect(trial.queue.release(claim)).rejects.toMatchObject(closed);
      await expect(trial.queue.extend(claim, 1)).rejects.toMatchObject(closed);
    });

    test('waits for running calls, counts waiting messages, and resolves to the same when called twice', async () => {
      const trial = await Trial.start(harness);
      const entries = ['one', 'two', 'one'].map((name) => entryOf(name));
      await trial.queue.enqueue(entries);
      await trial.settle(await trial.claim({ maxMessages: 1 }), trial.retry(2));
      await trial.claim();
      const begun = trial.queue.enqueue([entryOf('three')]);
      const closing = trial.queue.close();
      expect((await begun).sequences).toHaveLength(1);
      const { returned, remaining } = await closing;
      const expected = harness.capabilities.durable ? [0, 4] : [4, 0];
      expect([returned.length, remaining]).toEqual(expected);
      expect(await trial.queue.close()).toEqual({ returned, remaining });
    });
  });
}
