/** The delay of an enqueue: how long it lasts, and what ends it early. */
import { describe, expect, test } from 'vitest';
import type { QueueEntry } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { DELIVERED, entryOf, INITIAL, idsOf, manyOf, retry, Trial } from './trial.ts';

const named = (...messageIds: readonly string[]): QueueEntry[] =>
  messageIds.map((messageId) => entryOf('one', { messageId }));

/** Starts with an application whose claims may have three messages. */
async function threeAtOnce(harness: QueueHarness): Promise<Trial> {
  const trial = await Trial.start(harness);
  await trial.enqueue('one', 'first');
  await trial.settle(await trial.claim(), DELIVERED, { maxMessages: 3 });
  return trial;
}

export function describeDelays(harness: QueueHarness): void {
  describe('a delay', () => {
    test('delays messages until it is over', async () => {
      const trial = await Trial.start(harness);
      await trial.queue.enqueue(named('a'), 10_000);
      expect((await trial.nothing()).dueInMs).toBe(10_000);
      expect((await trial.queue.stats()).oldestDueMs).toBe(0);
      await trial.advance(4000);
      await trial.queue.enqueue(named('b'), 10_000);
      expect((await trial.nothing()).dueInMs).toBe(6000);
      await trial.advance(6000);
      const claim = await trial.claim();
      expect(idsOf(claim)).toEqual(['a']);
      expect(claim.messages[0]?.ageMs).toBe(10_000);
      await trial.settle(claim, DELIVERED);
      expect((await trial.nothing()).dueInMs).toBe(4000);
      await trial.advance(4000);
      expect(idsOf(await trial.claim())).toEqual(['b']);
    });

    test('ends early when as many messages wait as one claim may have', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('a'), 10_000);
      await trial.advance(1000);
      await trial.queue.enqueue(named('b'), 10_000);
      expect((await trial.nothing()).dueInMs).toBe(9000);
      await trial.queue.enqueue(named('c'), 10_000);
      const claim = await trial.claim();
      expect(idsOf(claim)).toEqual(['a', 'b', 'c']);
      await trial.settle(claim, DELIVERED, { maxMessages: 3 });
      await trial.queue.enqueue(named('d', 'e', 'f'), 10_000);
      expect(idsOf(await trial.claim())).toEqual(['d', 'e', 'f']);
    });

    test('ends early when a reopening lowers how many messages a claim may have', async () => {
      const trial = await Trial.start(harness);
      const { maxMessages } = INITIAL;
      const state = { health: 'failing', maxMessages: maxMessages + 1 } as const;
      await trial.enqueue('one', 'first');
      await trial.settle(await trial.claim(), DELIVERED, state);
      await trial.queue.enqueue(manyOf('one', maxMessages), 10_000);
      expect((await trial.nothing()).dueInMs).toBe(10_000);
      await trial.queue.reopenApplication('one');
      expect((await trial.claim()).messages).toHaveLength(maxMessages);
    });

    test('ends when an expired lease makes enough messages wait, but not that of a retry', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('retried'));
      await trial.settle(await trial.claim(), retry(3000), { maxMessages: 3 });
      await trial.queue.enqueue(named('a', 'b'));
      await trial.claim({ leaseMs: 1000 });
      await trial.queue.enqueue(named('c'), 10_000);
      await trial.advance(5000);
      expect(idsOf(await trial.claim())).toEqual(['a', 'b', 'c']);
    });
  });
}
