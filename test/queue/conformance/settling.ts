/** Laws 2 and 3: what ends a claim, and when its messages are due again. */
import { describe, expect, test } from 'vitest';
import type { Claim, MessageQueue } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { DEAD, DELIVERED, INITIAL, idsOf, LAST, Trial } from './trial.ts';

const retryCountsOf = (claim: Claim): number[] =>
  claim.messages.map(({ retryCount }) => retryCount);

export function describeSettling(harness: QueueHarness): void {
  describe('settling', () => {
    test('gives each message its own result, and leaves later messages alone', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b', 'c');
      const claim = await trial.claim();
      await trial.enqueue('one', 'd');
      expect(await trial.settle(claim, [DELIVERED, DEAD, trial.retry(0)])).toBe('settled');
      expect(await trial.counts()).toEqual([4, 1, 2, 1]);
      const letters = await trial.deadLetters();
      expect(letters.map(({ stored }) => stored.messageId)).toEqual(['b']);
      expect(idsOf(await trial.claim())).toEqual(['c', 'd']);
    });

    test.each([0, 1, 3])(
      'with %i results for 2 messages is rejected, and keeps the claim',
      async (count) => {
        const trial = await Trial.start(harness);
        await trial.enqueue('one', 'a', 'b');
        const claim = await trial.claim();
        const results = Array<typeof DELIVERED>(count).fill(DELIVERED);
        await expect(trial.queue.settle(claim, results, LAST)).rejects.toMatchObject({
          code: 'ERR_QUEUE_FAILED',
          message: expect.stringContaining(`${count} results for 2 messages`) as string,
        });
        expect(await trial.counts()).toEqual([2, 0, 2, 0]);
        expect(await trial.queue.settle({ ...claim, id: 'forged' }, results, LAST)).toBe('lost');
        expect(await trial.settle(claim, DELIVERED)).toBe('settled');
      },
    );

    test('makes a message due at its time, and not before; others are due meanwhile', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      await trial.settle(await trial.claim(), [trial.retry(4), trial.retry(2)]);
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(2);
      await trial.enqueue('one', 'c');
      const meanwhile = await trial.claim();
      expect(idsOf(meanwhile)).toEqual(['c']);
      await trial.settle(meanwhile, DELIVERED);
      await trial.advance(1);
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(1);
      await trial.advance(1);
      const second = await trial.claim();
      expect(idsOf(second)).toEqual(['b']);
      await trial.settle(second, DELIVERED);
      await trial.advance(2);
      expect(idsOf(await trial.claim())).toEqual(['a']);
    });

    test('keeps the due time of a message that is retried without a wait', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const claim = await trial.claim({ maxMessages: 1 });
      await trial.advance(1);
      await trial.enqueue('one', 'c');
      await trial.settle(claim, trial.retry(0));
      expect(idsOf(await trial.claim())).toEqual(['a', 'b', 'c']);
    });

    test("keeps the messages' retry state and the application's state and circuit breaker", async () => {
      const trial = await Trial.start(harness);
      const circuitBreaker = { failures: 3, opened: [1.5, null, 'x'], nested: { deep: true } };
      const state = { health: 'failing', maxMessages: 7, maxBytes: 5000, circuitBreaker } as const;
      await trial.enqueue('one', 'a', 'b');
      const results = [trial.retry(0, { retryState: 5 }), trial.retry(0, { retryState: 6 })];
      await trial.settle(await trial.claim(), results, state);
      const claim = await trial.claim();
      expect(claim.messages.map(({ retryState }) => retryState)).toEqual([5, 6]);
      expect(claim.state).toEqual(state);
      expect(await trial.queue.applicationState('one')).toEqual(state);
    });

    test('pauses the application for pauseMs', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      await trial.settle(await trial.claim({ maxMessages: 1 }), trial.retry(1), {
        pauseMs: trial.ms(3),
      });
      await trial.enqueue('one', 'c');
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(3);
      expect((await trial.queue.stats()).oldestDueMs).toBe(0);
      await trial.advance(2);
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(1);
      await trial.advance(1);
      expect(idsOf(await trial.claim())).toEqual(['b', 'c', 'a']);
    });
  });

  describe('a release', () => {
    test('makes the messages due as before, and writes the state if one is given', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const claim = await trial.claim();
      await trial.enqueue('one', 'c');
      expect(await trial.queue.release(claim)).toBe('released');
      const again = await trial.claim();
      expect([idsOf(again), retryCountsOf(again)]).toEqual([
        ['a', 'b', 'c'],
        [0, 0, 0],
      ]);
      expect(again.state).toEqual(INITIAL);
      const state = { health: 'failing', maxMessages: 2, maxBytes: 50, circuitBreaker: 1 } as const;
      await trial.queue.release(again, { ...state, pauseMs: trial.ms(2) });
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(2);
      await trial.advance(2);
      expect((await trial.claim({ ofHealth: ['failing'] })).state).toEqual(state);
    });
  });

  describe('a lease', () => {
    test('makes its messages due again when it expires, first and with their sends', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      await trial.claim({ leaseMs: trial.ms(2), maxMessages: 1 });
      await trial.advance(1);
      await trial.enqueue('one', 'c');
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(1);
      await trial.advance(1);
      const claim = await trial.claim();
      expect([idsOf(claim), retryCountsOf(claim)]).toEqual([
        ['a', 'b', 'c'],
        [1, 0, 0],
      ]);
    });

    test.each<[string, (queue: MessageQueue, claim: Claim) => Promise<string>]>([
      [
        'settle',
        (queue, claim) =>
          queue.settle(claim, [DELIVERED], { ...INITIAL, circuitBreaker: 1, pauseMs: 99 }),
      ],
      [
        'release',
        (queue, claim) => queue.release(claim, { ...INITIAL, circuitBreaker: 1, pauseMs: 99 }),
      ],
      ['extend', (queue, claim) => queue.extend(claim, 99)],
    ])('that is over can be used no more to %s', async (_name, use) => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const stale = await trial.claim({ leaseMs: trial.ms(1) });
      await trial.advance(1);
      expect(await use(trial.queue, stale)).toBe('lost');
      expect(await trial.queue.applicationState('one')).toEqual(INITIAL);
      const claim = await trial.claim();
      expect([idsOf(claim), retryCountsOf(claim)]).toEqual([['a'], [1]]);
      // Nor against the claim that came after it.
      expect(await use(trial.queue, stale)).toBe('lost');
      expect(await trial.settle(claim, DELIVERED)).toBe('settled');
      expect(await trial.counts()).toEqual([1, 1, 0, 0]);
    });
  });
}
