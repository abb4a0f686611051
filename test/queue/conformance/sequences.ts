/** Sequences: what tells messages apart, and what can be counted by them. */
import { describe, expect, test } from 'vitest';
import type { SequenceRange } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { DELIVERED, entryOf, Trial } from './trial.ts';

const only = (sequence: number | undefined): SequenceRange[] => [
  { from: sequence ?? 0, to: sequence ?? 0 },
];

export function describeSequences(harness: QueueHarness): void {
  describe('sequences', () => {
    test('differ for two messages with the same id', async () => {
      const trial = await Trial.start(harness);
      const { sequences } = await trial.enqueue('one', 'same', 'same');
      expect(new Set(sequences).size).toBe(2);
      const claim = await trial.claim();
      expect(claim.messages.map(({ stored }) => stored.messageId)).toEqual(['same', 'same']);
      await trial.settle(claim, [DELIVERED, trial.retry(0)]);
      expect(await trial.queue.countPending(only(sequences[0]))).toBe(0);
      expect(await trial.queue.countPending(only(sequences[1]))).toBe(1);
      expect(await trial.counts()).toEqual([2, 1, 1, 0]);
    });
  });

  describe('countPending', () => {
    test('counts delayed messages and those of every application in the ranges', async () => {
      const trial = await Trial.start(harness);
      const names = ['one', 'two', 'one', 'three', 'two'];
      const entries = names.map((name) => entryOf(name));
      const { sequences } = await trial.queue.enqueue(entries, trial.ms(5));
      const [a = 0, b = 0, , d = 0, e = 0] = sequences;
      const count = (...ranges: SequenceRange[]) => trial.queue.countPending(ranges);
      expect(await count()).toBe(0);
      expect(await count({ from: a, to: b })).toBe(2);
      expect(await count({ from: a, to: a }, { from: d, to: e })).toBe(3);
      expect(await count({ from: e + 1, to: e + 1000 })).toBe(0);
      expect(await count({ from: 1, to: Number.MAX_SAFE_INTEGER })).toBe(5);
    });
  });

  describe('the backlog of open', () => {
    test('is empty when the queue is new', async () => {
      const trial = await Trial.start(harness);
      expect(trial.backlog).toEqual({ pendingMessages: 0, dueMessages: 0, lastSequence: 0 });
    });

    // Only a durable queue has a backlog.
    test.runIf(harness.capabilities.durable).each(['closed', 'crashed'] as const)(
      'counts due and claimed messages of a queue that was %s',
      async (how) => {
        const trial = await Trial.start(harness);
        await trial.enqueue('one', 'a', 'b');
        await trial.settle(await trial.claim(), trial.retry(50));
        await trial.queue.enqueue([entryOf('one')], trial.ms(50));
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
