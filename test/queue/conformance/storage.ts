/** What only a queue can keep that outlives its handle, or is shared. */
import { describe, expect, test } from 'vitest';
import type { Claim, MessageQueue, QueueEntry } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import {
  closeApplication,
  counted,
  DEAD,
  DELIVERED,
  entryOf,
  idsOf,
  isClaim,
  LAST,
  Trial,
} from './trial.ts';

/** 30 for each, one after the other. */
const ofThree = (): QueueEntry[] =>
  Array.from({ length: 90 }, (_, index) => entryOf(['one', 'two', 'three'][index % 3] as string));

/** So many claims, and how many were in vain since the first. */
async function claimedBy(queue: MessageQueue, trial: Trial, count: number) {
  const claims: Claim[] = [];
  let inVain = 0;
  while (claims.length < count) {
    const claimed = await queue.claim(trial.request());
    if (isClaim(claimed)) claims.push(claimed);
    else if (claims.length > 0) inVain += 1;
    await new Promise(setImmediate);
  }
  return { claims, inVain };
}

export function describeStorage(harness: QueueHarness): void {
  const { durable, distributed, holdsCalls = false } = harness.capabilities;

  // A queue that is not durable has no storage to come back to.
  describe.runIf(durable)('a durable queue', () => {
    test.each(['closed', 'crashed'] as const)(
      'has the same content after it was %s',
      async (how) => {
        const trial = await Trial.start(harness);
        const state = {
          health: 'failing',
          maxMessages: 5,
          maxBytes: 5000,
          circuitBreaker: { a: [1] },
        } as const;
        const entry = entryOf('one', { bytes: Buffer.from([0, 255]) });
        const { sequences } = await trial.queue.enqueue([entry, entryOf('one'), entryOf('one')]);
        const results = [trial.retry(0, { maxMessages: 2, retryState: 3 }), DELIVERED, DEAD];
        await trial.settle(await trial.claim(), results, state);
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
        expect(claim).toMatchObject({ applicationId: 'one', state });
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
      await trial.claim({ leaseMs: trial.ms(2) });
      await trial.reopen('closed');
      const released = await trial.claim({ leaseMs: trial.ms(2) });
      expect(released.messages[0]?.retryCount).toBe(0);
      await trial.reopen('crashed');
      await trial.advance(2);
      const claim = await trial.claim();
      expect([idsOf(claim), claim.messages[0]?.retryCount]).toEqual([['a'], 1]);
    });

    // Otherwise another process could send at once, above a rate limit that no result could store.
    test('keeps the lease of a claim whose settle failed when it is closed', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const sent = await trial.claim({ leaseMs: trial.ms(3) });
      const failed = { code: 'ERR_QUEUE_FAILED' };
      await expect(trial.queue.settle(sent, [], LAST)).rejects.toMatchObject(failed);
      await trial.reopen('closed');
      await trial.nothing();
      await trial.advance(3);
      const claim = await trial.claim();
      expect([idsOf(claim), claim.messages[0]?.retryCount]).toEqual([['a'], 1]);
    });
  });

  describe.runIf(durable)('the time of a durable queue', () => {
    test.each(['closed', 'crashed'] as const)('goes on after it was %s', async (how) => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const before = await trial.claim({ leaseMs: trial.ms(1) });
      await trial.reopen(how);
      await trial.advance(3);
      const after = await trial.claim();
      expect(trial.units(after.nowMs - before.nowMs)).toBe(3);
      expect(trial.units(after.messages[0]?.ageMs)).toBe(3);
    });
  });

  // A queue of one process has no other handle.
  describe.runIf(distributed)('a distributed queue', () => {
    test('has one content for all of its handles', async () => {
      const trial = await Trial.start(harness);
      const other = await trial.join();
      let notified = 0;
      const isTold = new Promise<void>((resolve) => {
        other.onDue(() => {
          notified += 1;
          resolve();
        });
      });
      await trial.enqueue('one', 'a');
      await isTold;
      expect(notified).toBeGreaterThan(0);
      const claim = await other.claim(trial.request());
      expect(claim).toMatchObject({ applicationId: 'one' });
      await trial.nothing();
      await other.close();
      const again = await trial.claim();
      expect(again.messages[0]?.retryCount).toBe(0);
      await trial.settle(again, DELIVERED);
      expect(await trial.counts()).toEqual([1, 1, 0, 0]);
    });

    test('shows all messages of a call to others at once', async () => {
      const trial = await Trial.start(harness);
      const other = await trial.join();
      await other.claim(trial.request());
      const enqueued = trial.queue.enqueue(ofThree());
      const { claims, inVain } = await claimedBy(other, trial, 3);
      await enqueued;
      expect(claims.map(({ messages }) => messages.length)).toEqual([30, 30, 30]);
      // Once any of it is there, all of it is.
      expect(inVain).toBe(0);
      await other.close();
    });

    describe.runIf(holdsCalls)('while one call stands still in the middle', () => {
      test('shows nothing of it, and then all', async () => {
        const trial = await Trial.start(harness);
        const other = await trial.join();
        const hold = await trial.hold('two');
        const enqueued = trial.queue.enqueue(ofThree());
        await hold.reached();
        expect(isClaim(await other.claim(trial.request()))).toBe(false);
        expect(await other.stats()).toMatchObject({ accepted: 0, pending: 0 });
        await hold.letGo();
        await enqueued;
        const { claims, inVain } = await claimedBy(other, trial, 3);
        expect(claims.map(({ messages }) => messages.length)).toEqual([30, 30, 30]);
        expect(inVain).toBe(0);
        await other.close();
      });
    });

    test('settles a claim once, by any handle', async () => {
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
