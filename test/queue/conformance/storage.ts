/** What a durable queue keeps, and what its handles share. */
import { describe, expect, test } from 'vitest';
import type { QueueEntry } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import {
  closeApplication,
  counted,
  DEAD,
  DELIVERED,
  entryOf,
  FAILING,
  idsOf,
  isClaim,
  LAST,
  retry,
  Trial,
} from './trial.ts';

/** Entries of three applications in turn, 30 for each. */
const ofThree = (): QueueEntry[] =>
  Array.from({ length: 90 }, (_, index) => entryOf(['one', 'two', 'three'][index % 3] as string));

export function describeStorage(harness: QueueHarness): void {
  describe('a durable queue', () => {
    test.each(['closed', 'crashed'] as const)(
      'has the same content after it was %s',
      async (how) => {
        const trial = await Trial.start(harness);
        const entry = entryOf('one', { bytes: Buffer.from([0, 255]) });
        const { sequences } = await trial.queue.enqueue([entry, entryOf('one'), entryOf('one')]);
        const results = [retry(0, { maxMessages: 2, retryState: 3 }), DELIVERED, DEAD];
        await trial.settle(await trial.claim(), results, FAILING);
        await trial.enqueue('two', 'b', 'c');
        await closeApplication(trial.queue);
        await trial.queue.deadLetterClosed('two', 1);
        const before = await trial.queue.stats();
        const letters = await trial.deadLetters();
        await trial.reopen(how);
        const after = await trial.queue.stats();
        expect({ ...after, oldestDueMs: 0 }).toEqual({ ...before, oldestDueMs: 0 });
        expect(counted(after.discarded)).toEqual(counted(before.discarded));
        expect(await trial.deadLetters()).toEqual(letters);
        expect((await trial.enqueue('two', 'd')).closed).toEqual(['two']);
        const claim = await trial.claim();
        expect(claim).toMatchObject({ applicationId: 'one', state: FAILING });
        expect(claim.messages[0]).toMatchObject({
          stored: entry.stored,
          sequence: sequences[0],
          retryCount: 1,
          retryState: 3,
        });
      },
    );

    test('counts no send for claims that close released, and one after a crash', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      await trial.claim({ leaseMs: 2000 });
      await trial.reopen('closed');
      const released = await trial.claim({ leaseMs: 2000 });
      expect(released.messages[0]?.retryCount).toBe(0);
      await trial.reopen('crashed');
      await trial.advance(2000);
      const claim = await trial.claim();
      expect([idsOf(claim), claim.messages[0]?.retryCount]).toEqual([['a'], 1]);
    });

    // Otherwise another process could send at once, above a rate limit that no result could store.
    test('keeps the lease of a claim whose settle failed when it is closed', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const sent = await trial.claim({ leaseMs: 3000 });
      const failed = { code: 'ERR_QUEUE_FAILED' };
      await expect(trial.queue.settle(sent, [], LAST)).rejects.toMatchObject(failed);
      await trial.reopen('closed');
      await trial.nothing();
      await trial.advance(3000);
      const claim = await trial.claim();
      expect([idsOf(claim), claim.messages[0]?.retryCount]).toEqual([['a'], 1]);
    });
  });

  describe('the time of a durable queue', () => {
    test.each(['closed', 'crashed'] as const)('goes on after it was %s', async (how) => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const before = await trial.claim({ leaseMs: 1000 });
      await trial.reopen(how);
      await trial.advance(3000);
      const after = await trial.claim();
      expect(after.nowMs - before.nowMs).toBe(3000);
      expect(after.messages[0]?.ageMs).toBe(3000);
    });
  });

  describe('two handles of a durable queue', () => {
    test('have one content, and notify each other', async () => {
      const trial = await Trial.start(harness);
      const other = await trial.join();
      const notified = new Promise<void>((resolve) => void other.onDue(resolve));
      await trial.enqueue('one', 'a');
      await notified;
      const claim = await other.claim(trial.request());
      expect(claim).toMatchObject({ applicationId: 'one' });
      await trial.nothing();
      await other.close();
      const again = await trial.claim();
      expect(again.messages[0]?.retryCount).toBe(0);
      await trial.settle(again, DELIVERED);
      expect(await trial.counts()).toEqual([1, 1, 0, 0]);
    });

    test('show each other all messages of a call at once', async () => {
      const trial = await Trial.start(harness);
      const other = await trial.join();
      await other.claim(trial.request());
      const enqueued = trial.queue.enqueue(ofThree());
      const sizes: number[] = [];
      for (let seen = 0; seen < 90; ) {
        const claimed = await other.claim(trial.request());
        const size = isClaim(claimed) ? claimed.messages.length : 0;
        // Once a claim has found messages, the next ones must, too.
        if (seen + size > 0) sizes.push(size);
        seen += size;
      }
      await enqueued;
      expect(sizes).toEqual([30, 30, 30]);
      await other.close();
    });

    test('settle a claim once', async () => {
      const trial = await Trial.start(harness);
      const other = await trial.join();
      await trial.enqueue('one', 'a', 'b');
      const claim = await trial.claim();
      const results = [DELIVERED, DEAD];
      expect(await other.settle(claim, results, LAST)).toBe('settled');
      expect(await trial.settle(claim, results)).toBe('lost');
      expect(await trial.counts()).toEqual([2, 1, 0, 1]);
      await other.close();
      expect(await trial.queue.replayDeadLetters({})).toBe(1);
    });
  });
}
