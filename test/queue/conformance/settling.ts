/** Laws 2 and 3: what ends a claim, and when its messages are due again. */
import { describe, expect, test } from 'vitest';
import type { Claim, MessageQueue } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { DEAD, DELIVERED, INITIAL, idsOf, Trial } from './trial.ts';

const sendsOf = (claim: Claim): number[] => claim.messages.map(({ sends }) => sends);

export function describeSettling(harness: QueueHarness): void {
  describe('settling', () => {
    test('gives each message its own result, and leaves what came later', async () => {
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

    test('makes a message due at its time, and not before; others are due meanwhile', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      await trial.settle(await trial.claim(), [trial.retry(4), trial.retry(2)]);
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(2);
      await trial.enqueue('one', 'c');
      const meanwhile = await trial.claim();
      expect(idsOf(meanwhile)).toEqual(['c']);
      await trial.settle(meanwhile, DELIVERED);
      await trial.advance(1);
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(1);
      await trial.advance(1);
      const second = await trial.claim();
      expect(idsOf(second)).toEqual(['b']);
      await trial.settle(second, DELIVERED);
      await trial.advance(2);
      expect(idsOf(await trial.claim())).toEqual(['a']);
    });

    test('sorts what is due again by the time when it became due', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b', 'c', 'd');
      await trial.settle(
        await trial.claim(),
        [3, 1, 2, 0].map((units) => trial.retry(units)),
      );
      await trial.advance(4);
      await trial.enqueue('one', 'e');
      expect(idsOf(await trial.claim())).toEqual(['d', 'b', 'c', 'a', 'e']);
    });

    test('with no wait leaves a message in front of what became due later', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const claim = await trial.claim({ maxMessages: 1 });
      await trial.advance(1);
      await trial.enqueue('one', 'c');
      await trial.settle(claim, trial.retry(0));
      expect(idsOf(await trial.claim())).toEqual(['a', 'b', 'c']);
    });

    test("keeps the messages' progress and the application's state and circuit breaker", async () => {
      const trial = await Trial.start(harness);
      const circuitBreaker = { failures: 3, opened: [1.5, null, 'x'], nested: { deep: true } };
      const state = { tier: 'failing', maxMessages: 7, maxBytes: 5000, circuitBreaker } as const;
      await trial.enqueue('one', 'a', 'b');
      const results = [trial.retry(0, { progress: 5 }), trial.retry(0, { progress: 6 })];
      await trial.settle(await trial.claim(), results, state);
      const claim = await trial.claim();
      expect(claim.messages.map(({ progress }) => progress)).toEqual([5, 6]);
      expect(claim.state).toEqual(state);
      expect(await trial.queue.applicationState('one')).toEqual(state);
    });

    test('holds all of the application back for as long as it says', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      await trial.settle(await trial.claim({ maxMessages: 1 }), trial.retry(1), {
        pauseMs: trial.ms(3),
      });
      await trial.enqueue('one', 'c');
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(3);
      expect((await trial.queue.stats()).oldestDueMs).toBe(0);
      await trial.advance(2);
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(1);
      await trial.advance(1);
      expect(idsOf(await trial.claim())).toEqual(['b', 'c', 'a']);
    });

    test('counts a sending for each claim, over results and leases, but not for a release', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const seen: number[][] = [];
      const next = async (): Promise<Claim> => {
        const claim = await trial.claim({ leaseMs: trial.ms(1) });
        seen.push(sendsOf(claim));
        return claim;
      };
      await trial.settle(await next(), trial.retry(0));
      await trial.queue.release(await next());
      await next();
      await trial.advance(1);
      await trial.queue.release(await next());
      await trial.settle(await next(), trial.retry(0));
      await next();
      expect(seen).toEqual([0, 1, 1, 2, 2, 3].map((sends) => [sends, sends]));
    });

    test('twice is lost the second time, and changes nothing', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const claim = await trial.claim({ maxMessages: 1 });
      await trial.settle(claim, DELIVERED);
      expect(await trial.settle(claim, DEAD, { tier: 'failing' })).toBe('lost');
      expect(await trial.queue.release(claim)).toBe('lost');
      expect(await trial.queue.extend(claim, trial.ms(9))).toBe('lost');
      expect(await trial.counts()).toEqual([2, 1, 1, 0]);
      expect(await trial.queue.applicationState('one')).toEqual(INITIAL);
      expect(idsOf(await trial.claim())).toEqual(['b']);
    });
  });

  describe('a release', () => {
    test('makes the messages due as they were, and writes the state where one is given', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const claim = await trial.claim();
      await trial.enqueue('one', 'c');
      expect(await trial.queue.release(claim)).toBe('released');
      const again = await trial.claim();
      expect([idsOf(again), sendsOf(again)]).toEqual([
        ['a', 'b', 'c'],
        [0, 0, 0],
      ]);
      expect(again.state).toEqual(INITIAL);
      const state = { tier: 'failing', maxMessages: 2, maxBytes: 50, circuitBreaker: 1 } as const;
      await trial.queue.release(again, { ...state, pauseMs: trial.ms(2) });
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(2);
      await trial.advance(2);
      expect((await trial.claim({ tiers: ['failing'] })).state).toEqual(state);
    });
  });

  describe('a lease', () => {
    test('that is over makes the messages due again, in front, with their sendings', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      await trial.claim({ leaseMs: trial.ms(2), maxMessages: 1 });
      await trial.advance(1);
      await trial.enqueue('one', 'c');
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(1);
      await trial.advance(1);
      const claim = await trial.claim();
      expect([idsOf(claim), sendsOf(claim)]).toEqual([
        ['a', 'b', 'c'],
        [1, 0, 0],
      ]);
    });

    test.each<[string, (queue: MessageQueue, claim: Claim) => Promise<string>]>([
      [
        'settle',
        (queue, claim) =>
          queue.settle(claim, [DELIVERED], { ...INITIAL, circuitBreaker: 1, pauseMs: 99 }),
      ],
      [
        'release',
        (queue, claim) => queue.release(claim, { ...INITIAL, circuitBreaker: 1, pauseMs: 99 }),
      ],
      ['extend', (queue, claim) => queue.extend(claim, 99)],
    ])('that is over can be used no more to %s', async (_name, use) => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const stale = await trial.claim({ leaseMs: trial.ms(1) });
      await trial.advance(1);
      expect(await use(trial.queue, stale)).toBe('lost');
      expect(await trial.queue.applicationState('one')).toEqual(INITIAL);
      const claim = await trial.claim();
      expect([idsOf(claim), sendsOf(claim)]).toEqual([['a'], [1]]);
      // Nor against the claim that came after it.
      expect(await use(trial.queue, stale)).toBe('lost');
      expect(await trial.settle(claim, DELIVERED)).toBe('settled');
      expect(await trial.counts()).toEqual([1, 1, 0, 0]);
    });

    test('can be extended, from now on', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a');
      const claim = await trial.claim({ leaseMs: trial.ms(2) });
      await trial.advance(1);
      expect(await trial.queue.extend(claim, trial.ms(3))).toBe('extended');
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(3);
      await trial.advance(2);
      await trial.nothing();
      expect(await trial.settle(claim, DELIVERED)).toBe('settled');
    });
  });

  describe('where nothing can be claimed, dueInMs', () => {
    test('is absent while nothing waits, in these tiers or at all', async () => {
      const trial = await Trial.start(harness);
      expect(await trial.nothing()).toEqual({});
      await trial.enqueue('one', 'a');
      await trial.settle(await trial.claim(), trial.retry(1));
      expect(await trial.nothing({ tiers: ['failing'] })).toEqual({});
      expect(await trial.nothing({ tiers: [] })).toEqual({});
    });

    test('is that of the first application', async () => {
      const trial = await Trial.start(harness);
      for (const [name, units] of [
        ['one', 5],
        ['two', 3],
        ['three', 4],
      ] as const) {
        await trial.enqueue(name, name);
        await trial.settle(await trial.claim(), trial.retry(units));
      }
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(3);
    });
  });
}
