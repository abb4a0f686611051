/** The delay of an enqueue: how long it lasts, and what ends it early. */
import { describe, expect, test } from 'vitest';
import type { QueueEntry } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { DELIVERED, entryOf, INITIAL, idsOf, Trial } from './trial.ts';

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
      await trial.queue.enqueue(named('a'), trial.ms(10));
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(10);
      expect((await trial.queue.stats()).oldestDueMs).toBe(0);
      await trial.advance(4);
      await trial.queue.enqueue(named('b'), trial.ms(10));
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(6);
      await trial.advance(6);
      const claim = await trial.claim();
      expect(idsOf(claim)).toEqual(['a']);
      expect(trial.units(claim.messages[0]?.ageMs)).toBe(10);
      await trial.settle(claim, DELIVERED);
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(4);
      await trial.advance(4);
      expect(idsOf(await trial.claim())).toEqual(['b']);
    });

    test('ends early when as many messages wait as one claim may have', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('a'), trial.ms(10));
      await trial.advance(1);
      await trial.queue.enqueue(named('b'), trial.ms(10));
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(9);
      await trial.queue.enqueue(named('c'), trial.ms(10));
      const claim = await trial.claim();
      expect(idsOf(claim)).toEqual(['a', 'b', 'c']);
      await trial.settle(claim, DELIVERED, { maxMessages: 3 });
      await trial.queue.enqueue(named('d', 'e', 'f'), trial.ms(10));
      expect(idsOf(await trial.claim())).toEqual(['d', 'e', 'f']);
    });

    test('ends early when a reopening lowers how many messages a claim may have', async () => {
      const trial = await Trial.start(harness);
      const { maxMessages } = INITIAL;
      const state = { health: 'failing', maxMessages: maxMessages + 1 } as const;
      await trial.enqueue('one', 'first');
      await trial.settle(await trial.claim(), DELIVERED, state);
      const ids = Array.from({ length: maxMessages }, (_, index) => `m-${index}`);
      await trial.queue.enqueue(named(...ids), trial.ms(10));
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(10);
      await trial.queue.reopenApplication('one');
      expect(idsOf(await trial.claim())).toContain('m-0');
    });

    test('ends early when an expired lease makes enough messages wait', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('a', 'b'));
      await trial.claim({ leaseMs: trial.ms(1) });
      await trial.queue.enqueue(named('c'), trial.ms(10));
      await trial.advance(1);
      expect(idsOf(await trial.claim())).toEqual(['a', 'b', 'c']);
    });

    test('ends when the lease expired, not when that is noticed', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('retried'));
      await trial.settle(await trial.claim(), trial.retry(3), { maxMessages: 3 });
      await trial.queue.enqueue(named('a', 'b'));
      await trial.claim({ leaseMs: trial.ms(1) });
      await trial.queue.enqueue(named('c'), trial.ms(10));
      await trial.advance(5);
      expect(idsOf(await trial.claim())).toEqual(['a', 'b', 'c']);
    });

    test('does not shorten the wait of retries when it ends early', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('retried'));
      await trial.settle(await trial.claim(), trial.retry(6), { maxMessages: 3 });
      for (const name of ['a', 'b']) await trial.queue.enqueue(named(name), trial.ms(10));
      const claim = await trial.claim();
      expect(idsOf(claim)).toEqual(['a', 'b']);
      await trial.settle(claim, DELIVERED);
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(6);
      await trial.advance(6);
      expect(idsOf(await trial.claim())).toEqual(['retried']);
    });
  });
}
