/** Laws 1, 6 and 7: all or nothing, limits and the ledger; listeners; and `close`. */
import { describe, expect, test } from 'vitest';
import type { Claim } from '../../../src/queue/queue.ts';
import { deferred } from '../../../src/runtime/deferred.ts';
import type { QueueHarness } from './harness.ts';
import {
  closeApplication,
  DEAD,
  DELIVERED,
  entryOf,
  INITIAL,
  idsOf,
  isClaim,
  LAST,
  REQUEST,
  retry,
  Trial,
} from './trial.ts';

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
      // Claimed messages still count as pending.
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
      ['a settling', async (trial) => trial.settle(await trial.claim(), retry(1000))],
      ['a release', async (trial) => trial.queue.release(await trial.claim())],
    ])('is called after %s, once for each subscription', async (_title, act) => {
      const trial = await Trial.start(harness);
      await trial.enqueue('closed', 'a');
      await closeApplication(trial.queue);
      await trial.enqueue('dead', 'b');
      await trial.settle(await trial.claim(), DEAD);
      await trial.enqueue('one', 'c');
      let calls = 0;
      const listener = (): void => {
        calls += 1;
      };
      const unsubscribeFirst = trial.queue.onDue(listener);
      const unsubscribeSecond = trial.queue.onDue(listener);
      unsubscribeFirst();
      unsubscribeFirst();
      await act(trial);
      expect(calls).toBeGreaterThan(0);
      const before = calls;
      unsubscribeSecond();
      await trial.enqueue('one', 'd');
      expect(calls).toBe(before);
    });

    test('is called when a claim finds the message, if a call before found none', async () => {
      const trial = await Trial.start(harness);
      const { promise: claimed, resolve } = deferred<Claim>();
      let claiming = Promise.resolve();
      // One after the other: of two concurrent claims, each may pass over what the other looks at.
      const claimNext = async (): Promise<void> => {
        const answer = await trial.queue.claim(REQUEST);
        if (isClaim(answer)) resolve(answer);
      };
      const unsubscribe = trial.queue.onDue(() => {
        claiming = claiming.then(claimNext);
      });
      await trial.enqueue('one', 'a');
      expect(idsOf(await claimed)).toEqual(['a']);
      unsubscribe();
      await claiming;
    });
  });

  describe('close', () => {
    test('makes every later call reject', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const claim = await trial.claim();
      const { queue } = trial;
      await queue.close();
      const calls: readonly Promise<unknown>[] = [
        queue.open(INITIAL),
        queue.enqueue([entryOf('one')]),
        queue.claim(REQUEST),
        queue.settle(claim, [DELIVERED], LAST),
        queue.release(claim),
        queue.extend(claim, 1),
        queue.applicationState('one'),
        queue.deadLetterOlderThan(0, 1),
        queue.deadLetterClosed('one', 1),
        queue.reopenApplication('one'),
        queue.countPending([]),
        queue.listDeadLetters({ limit: 1 }),
        queue.replayDeadLetters({}),
        queue.purgeDeadLetters({}),
      ];
      const closed = { status: 'rejected', reason: { code: 'ERR_QUEUE_CLOSED' } };
      expect(await Promise.allSettled(calls)).toMatchObject(calls.map(() => closed));
    });

    test('waits for running calls, counts waiting messages, and resolves to the same when called twice', async () => {
      const trial = await Trial.start(harness);
      const entries = ['one', 'two', 'one'].map((name) => entryOf(name));
      await trial.queue.enqueue(entries);
      await trial.settle(await trial.claim({ maxMessages: 1 }), retry(2000));
      await trial.claim();
      const begun = trial.queue.enqueue([entryOf('three')]);
      const closing = trial.queue.close();
      expect((await begun).sequences).toHaveLength(1);
      const { returned, remaining } = await closing;
      const expected = harness.isDurable ? [0, 4] : [4, 0];
      expect([returned.length, remaining]).toEqual(expected);
      expect(await trial.queue.close()).toEqual({ returned, remaining });
    });
  });
}
