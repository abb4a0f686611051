/** The delay of an enqueue: how long it lasts, and what ends it early. */
import { describe, expect, test } from 'vitest';
import type { QueueEntry } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { DELIVERED, entryOf, idsOf, Trial } from './trial.ts';

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

    test('does not delay messages that are due earlier', async () => {
      const trial = await Trial.start(harness);
      await trial.queue.enqueue(named('late', 'later'), trial.ms(8));
      await trial.queue.enqueue(named('soon'), trial.ms(3));
      await trial.queue.enqueue(named('now', 'now too'));
      const first = await trial.claim();
      expect(idsOf(first)).toEqual(['now', 'now too']);
      await trial.settle(first, DELIVERED);
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(3);
      await trial.advance(8);
      expect(idsOf(await trial.claim())).toEqual(['soon', 'late', 'later']);
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

    test('ends early for messages with another delay, too', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('late'), trial.ms(10));
      await trial.queue.enqueue(named('soon'), trial.ms(5));
      await trial.nothing();
      await trial.queue.enqueue(named('now'));
      expect(idsOf(await trial.claim())).toEqual(['late', 'soon', 'now']);
    });

    test('continues while fewer messages wait, although others are claimed', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('a', 'b'));
      const claim = await trial.claim();
      await trial.queue.enqueue(named('c', 'd'), trial.ms(10));
      await trial.settle(claim, DELIVERED, { maxMessages: 3 });
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(10);
    });

    test('ends early when a released claim makes enough messages wait', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('a', 'b'));
      const claim = await trial.claim();
      await trial.queue.enqueue(named('c'), trial.ms(10));
      await trial.queue.release(claim);
      expect(idsOf(await trial.claim())).toEqual(['a', 'b', 'c']);
    });

    test('ends early when enough messages come while others are claimed', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('a'));
      const claim = await trial.claim();
      await trial.queue.enqueue(named('b', 'c', 'd'), trial.ms(10));
      await trial.settle(claim, DELIVERED, { maxMessages: 3 });
      expect(idsOf(await trial.claim())).toEqual(['b', 'c', 'd']);
    });

    test('ends early when a settle lowers how many messages a claim may have', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('a'));
      const claim = await trial.claim();
      await trial.queue.enqueue(named('b', 'c'), trial.ms(10));
      await trial.settle(claim, DELIVERED, { maxMessages: 2 });
      expect(idsOf(await trial.claim())).toEqual(['b', 'c']);
    });

    test('does not shorten the wait of retries when it ends early', async () => {
      const trial = await threeAtOnce(harness);
      await trial.queue.enqueue(named('retried'));
      await trial.settle(await trial.claim(), trial.retry(6), { maxMessages: 3 });
      await trial.queue.enqueue(named('a', 'b', 'c'), trial.ms(10));
      const claim = await trial.claim();
      expect(idsOf(claim)).toEqual(['a', 'b', 'c']);
      await trial.settle(claim, DELIVERED);
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(6);
      await trial.advance(6);
      expect(idsOf(await trial.claim())).toEqual(['retried']);
    });
  });
}
