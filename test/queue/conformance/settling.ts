/** Laws 2 and 3: what ends a claim, and when its messages are due again. */
import { describe, expect, test } from 'vitest';
import type { QueueHarness } from './harness.ts';
import { DEAD, DELIVERED, idsOf, LAST, Trial } from './trial.ts';

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
  });

  describe('a release', () => {
    test('without a state keeps the state and the sends of the messages', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      await trial.settle(await trial.claim({ maxMessages: 1 }), DELIVERED, { health: 'failing' });
      const claim = await trial.claim();
      expect(await trial.queue.release(claim)).toBe('released');
      const again = await trial.claim();
      expect(again.state).toEqual(claim.state);
      expect(again.messages.map(({ retryCount }) => retryCount)).toEqual([0]);
    });
  });
}
