/** Closing and reopening an application, and the horizon (D71, D72). */
import { describe, expect, test } from 'vitest';
import type { QueueHarness } from './harness.ts';
import { DELIVERED, entryOf, INITIAL, idsOf, Trial } from './trial.ts';

export function describeApplications(harness: QueueHarness): void {
  describe('an application', () => {
    test('has no state before something is enqueued for it, and then the initial one', async () => {
      const trial = await Trial.start(harness);
      expect(await trial.queue.applicationState('one')).toBeUndefined();
      await trial.enqueue('one', 'a');
      expect(await trial.queue.applicationState('one')).toEqual(INITIAL);
      expect(await trial.queue.applicationState('two')).toBeUndefined();
    });

    test.each(['__proto__', 'constructor', '', 'a'.repeat(200), 'a\u0000b', '\u{1f512}'])(
      'may be called %j',
      async (name) => {
        const trial = await Trial.start(harness);
        await trial.enqueue(name, 'a');
        await trial.enqueue('another', 'b');
        expect((await trial.queue.stats()).applications.get(name)).toMatchObject({ pending: 1 });
        const claim = await trial.claim();
        expect([claim.applicationId, idsOf(claim)]).toEqual([name, ['a']]);
        expect(await trial.queue.applicationState(name)).toEqual(INITIAL);
      },
    );
  });

  describe('closing an application', () => {
    test('makes dead letters of what waits, page by page', async () => {
      const trial = await Trial.start(harness);
      const entries = Array.from({ length: 5 }, () => entryOf('one'));
      const { sequences } = await trial.queue.enqueue(entries);
      await trial.settle(await trial.claim({ maxMessages: 1 }), trial.retry(3));
      await trial.enqueue('two', 'z');
      const names: string[] = [];
      const sizes: number[] = [];
      for (let page = 0; page < 4; page += 1) {
        const closed = await trial.queue.closeApplication('one', 2);
        sizes.push(closed.length);
        for (const { applicationId, messageId, sequence } of closed) {
          const place = entries.findIndex(({ stored }) => stored.messageId === messageId);
          expect([applicationId, sequence]).toEqual(['one', sequences[place]]);
          names.push(messageId);
        }
      }
      expect(sizes).toEqual([2, 2, 1, 0]);
      expect(names.toSorted()).toEqual(entries.map(({ stored }) => stored.messageId).toSorted());
      const letters = await trial.deadLetters();
      expect(letters.map(({ reason, lastAttempt }) => [reason, lastAttempt])).toEqual(
        entries.map(() => ['destination-closed', null]),
      );
      expect(
        letters
          .map(({ sends }) => `${sends}`)
          .toSorted()
          .join(''),
      ).toBe('00001');
      expect(await trial.counts()).toEqual([6, 0, 1, 5]);
      expect(idsOf(await trial.claim())).toEqual(['z']);
    });

    test('ends claiming at once, also of what has not become a dead letter yet', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      await trial.queue.closeApplication('one', 1);
      expect(await trial.nothing()).toEqual({});
      expect(await trial.queue.applicationState('one')).toEqual({ ...INITIAL, tier: 'closed' });
      const { applications, oldestDueMs } = await trial.queue.stats();
      expect(applications.get('one')).toMatchObject({ tier: 'closed', pending: 1, dead: 1 });
      expect(oldestDueMs).toBe(0);
    });

    test('keeps new messages out, and tells whose; those of others are stored', async () => {
      const trial = await Trial.start(harness);
      await trial.queue.closeApplication('one', 1);
      await trial.enqueue('two', 'a');
      await trial.settle(await trial.claim(), DELIVERED, { tier: 'closed' });
      const entries = ['two', 'one', 'three', 'one'].map((name) => entryOf(name));
      const { closed } = await trial.queue.enqueue(entries);
      expect(closed.toSorted()).toEqual(['one', 'two']);
      expect(await trial.counts()).toEqual([2, 1, 1, 0]);
      expect((await trial.claim()).applicationId).toBe('three');
    });

    test('leaves nothing waiting of what was just being enqueued: it is dead, or too late', async () => {
      const trial = await Trial.start(harness);
      const handle = await trial.join();
      const entering = handle.enqueue(Array.from({ length: 300 }, () => entryOf('one')));
      let dead = 0;
      for (;;) {
        const page = await trial.queue.closeApplication('one', 100);
        if (page.length === 0) break;
        dead += page.length;
      }
      const { closed } = await entering;
      expect([closed, dead]).toEqual(dead === 0 ? [['one'], 0] : [[], 300]);
      expect(await trial.counts()).toEqual([dead, 0, 0, dead]);
    });

    test('lets a live claim be settled: what comes back is told with the next page', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const claim = await trial.claim();
      expect(await trial.queue.closeApplication('one', 10)).toEqual([]);
      expect(await trial.settle(claim, [DELIVERED, trial.retry(0)])).toBe('settled');
      expect(await trial.counts()).toEqual([2, 1, 1, 0]);
      expect(await trial.nothing()).toEqual({});
      const closed = await trial.queue.closeApplication('one', 10);
      expect(closed.map(({ messageId }) => messageId)).toEqual(['b']);
      expect(await trial.counts()).toEqual([2, 1, 0, 1]);
      expect((await trial.deadLetters())[0]).toMatchObject({
        reason: 'destination-closed',
        sends: 1,
        lastAttempt: null,
      });
      expect((await trial.queue.applicationState('one'))?.tier).toBe('closed');
      expect((await trial.enqueue('one', 'c')).closed).toEqual(['one']);
    });

    test('lets a live claim be released: its messages were not sent', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const claim = await trial.claim();
      await trial.queue.closeApplication('one', 10);
      expect(await trial.queue.release(claim, { ...INITIAL, pauseMs: 0 })).toBe('released');
      expect((await trial.queue.applicationState('one'))?.tier).toBe('closed');
      expect(await trial.queue.closeApplication('one', 10)).toHaveLength(1);
      expect(await trial.counts()).toEqual([1, 0, 0, 1]);
      expect((await trial.deadLetters())[0]).toMatchObject({ sends: 0, lastAttempt: null });
    });

    test('takes what comes back when a lease ends with the next page', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      await trial.claim({ leaseMs: trial.ms(1) });
      await trial.queue.closeApplication('one', 10);
      await trial.advance(1);
      expect(await trial.nothing()).toEqual({});
      await trial.queue.closeApplication('one', 10);
      expect(await trial.counts()).toEqual([1, 0, 0, 1]);
      expect((await trial.deadLetters())[0]).toMatchObject({
        reason: 'destination-closed',
        sends: 1,
      });
    });

    test('by a settling leaves what waits to be closed in pages', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b', 'c');
      const claim = await trial.claim({ maxMessages: 2 });
      await trial.settle(claim, [DELIVERED, trial.retry(0)], { tier: 'closed' });
      expect(await trial.nothing()).toEqual({});
      const closed = await trial.queue.closeApplication('one', 10);
      expect(closed.map(({ messageId }) => messageId).toSorted()).toEqual(['b', 'c']);
    });
  });

  describe('reopening an application', () => {
    test('gives it the initial state, and new messages are delivered', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const row = {
        tier: 'closed',
        maxMessages: 1,
        maxBytes: 1,
        circuitBreaker: 7,
        pauseMs: 1e9,
      } as const;
      await trial.settle(await trial.claim({ maxMessages: 1 }), DELIVERED, row);
      await trial.queue.closeApplication('one', 10);
      await trial.queue.reopenApplication('one');
      expect(await trial.queue.applicationState('one')).toEqual(INITIAL);
      expect((await trial.enqueue('one', 'c', 'd')).closed).toEqual([]);
      expect(idsOf(await trial.claim())).toEqual(['c', 'd']);
    });

    test('makes due what still waits', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      await trial.queue.closeApplication('one', 1);
      await trial.queue.reopenApplication('one');
      expect((await trial.claim()).messages).toHaveLength(1);
    });

    test('ends the pause of a failing one', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const failing = {
        tier: 'failing',
        maxMessages: 1,
        maxBytes: 9999,
        circuitBreaker: 7,
        pauseMs: 1e9,
      } as const;
      await trial.settle(await trial.claim({ maxMessages: 1 }), DELIVERED, failing);
      await trial.queue.reopenApplication('one');
      expect(await trial.queue.applicationState('one')).toEqual(INITIAL);
      expect(idsOf(await trial.claim())).toEqual(['b']);
    });

    test('leaves a healthy one, its limits and its pause as they are', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const healthy = {
        tier: 'healthy',
        maxMessages: 1,
        maxBytes: 9999,
        circuitBreaker: 7,
        pauseMs: 1e9,
      } as const;
      await trial.settle(await trial.claim({ maxMessages: 1 }), DELIVERED, healthy);
      await trial.queue.reopenApplication('one');
      expect(await trial.queue.applicationState('one')).toMatchObject({
        tier: 'healthy',
        maxBytes: 9999,
      });
      await trial.nothing();
    });

    test('of an unknown one does nothing', async () => {
      const trial = await Trial.start(harness);
      expect(await trial.queue.reopenApplication('one')).toBeUndefined();
      expect(await trial.nothing()).toEqual({});
    });
  });

  describe('expire', () => {
    test('makes dead letters of what was accepted too long ago and is not claimed', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('again', 'a', 'b');
      await trial.settle(await trial.claim(), [trial.retry(9), trial.retry(0)]);
      await trial.enqueue('claimed', 'c');
      await trial.claim({ tiers: ['healthy'], maxMessages: 1 });
      await trial.claim();
      await trial.enqueue('closed', 'd', 'e');
      await trial.queue.closeApplication('closed', 1);
      await trial.advance(3);
      await trial.enqueue('again', 'f');
      await trial.advance(1);
      const expired = await trial.queue.expire(trial.ms(3), 10);
      expect(expired.map(({ applicationId }) => applicationId).toSorted()).toEqual([
        'again',
        'closed',
      ]);
      const letters = await trial.deadLetters();
      expect(letters.map((one) => `${one.reason} ${one.sends}`).toSorted()).toEqual([
        'destination-closed 0',
        'horizon-passed 0',
        'horizon-passed 1',
      ]);
      expect(letters.map(({ lastAttempt }) => lastAttempt)).toEqual([null, null, null]);
      expect(await trial.counts()).toEqual([6, 0, 3, 3]);
    });

    test('goes in pages, and leaves what is younger', async () => {
      const trial = await Trial.start(harness);
      const entries = ['one', 'two', 'one', 'one', 'two'].map((name) => entryOf(name));
      const { sequences } = await trial.queue.enqueue(entries);
      await trial.advance(2);
      await trial.enqueue('one', 'young');
      const expire = () => trial.queue.expire(trial.ms(1), 2);
      const pages = [await expire(), await expire(), await expire(), await expire()];
      expect(pages.map(({ length }) => length)).toEqual([2, 2, 1, 0]);
      const found = pages.flat().map(({ messageId, sequence }) => `${messageId} ${sequence}`);
      expect(found.toSorted()).toEqual(
        entries.map(({ stored }, index) => `${stored.messageId} ${sequences[index]}`).toSorted(),
      );
      expect(idsOf(await trial.claim())).toEqual(['young']);
    });

    test('counts the age of a message from its replay', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      await trial.advance(4);
      expect(await trial.queue.expire(trial.ms(3), 10)).toHaveLength(1);
      await trial.queue.replayDeadLetters({});
      await trial.advance(1);
      expect(await trial.queue.expire(trial.ms(3), 10)).toEqual([]);
    });
  });
}
