/** Sequences: what tells messages apart, and what can be counted by them. */
import { describe, expect, test } from 'vitest';
import type { QueueHarness } from './harness.ts';
import { DELIVERED, entryOf, retry, Trial } from './trial.ts';

export function describeSequences(harness: QueueHarness): void {
  describe('sequences', () => {
    test('differ for two messages with the same id', async () => {
      const trial = await Trial.start(harness);
      const { sequences } = await trial.enqueue('one', 'same', 'same');
      expect(new Set(sequences).size).toBe(2);
      const claim = await trial.claim();
      expect(claim.messages.map(({ stored }) => stored.messageId)).toEqual(['same', 'same']);
      await trial.settle(claim, [DELIVERED, retry(0)]);
      const counts = sequences.map((one) => trial.queue.countPending([{ from: one, to: one }]));
      expect(await Promise.all(counts)).toEqual([0, 1]);
      expect(await trial.counts()).toEqual([2, 1, 1, 0]);
    });
  });

  describe('the backlog of open', () => {
    test('is empty when the queue is new', async () => {
      const trial = await Trial.start(harness);
      expect(trial.backlog).toEqual({ pendingMessages: 0, dueMessages: 0, lastSequence: 0 });
    });

    // Only a durable queue has a backlog.
    test.runIf(harness.isDurable).each(['closed', 'crashed'] as const)(
      'counts due and claimed messages of a queue that was %s',
      async (how) => {
        const trial = await Trial.start(harness);
        await trial.enqueue('one', 'a', 'b');
        await trial.settle(await trial.claim(), retry(50_000));
        await trial.queue.enqueue([entryOf('one')], 50_000);
        await trial.enqueue('two', 'c', 'd');
        await trial.claim({ maxMessages: 1 });
        const { sequences } = await trial.enqueue('three', 'e');
        const last = sequences[0] ?? 0;
        await trial.reopen(how);
        expect(trial.backlog).toEqual({ pendingMessages: 6, dueMessages: 3, lastSequence: last });
        const next = await trial.enqueue('four', 'f');
        expect(next.sequences[0]).toBeGreaterThan(last);
      },
    );
  });
}
