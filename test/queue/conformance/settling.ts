/** Laws 2 and 3: what ends a claim, and when its messages are due again. */
import { describe, expect, test } from 'vitest';
import type { QueueHarness } from './harness.ts';
import { DELIVERED, idsOf, LAST, retry, Trial } from './trial.ts';

export function describeSettling(harness: QueueHarness): void {
  describe('settling', () => {
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
      await trial.advance(1000);
      await trial.enqueue('one', 'c');
      await trial.settle(claim, retry(0));
      expect(idsOf(await trial.claim())).toEqual(['a', 'b', 'c']);
    });
  });
}
