/** Law 9: what moves to another queue loses nothing. */
import { describe, expect, test } from 'vitest';
import type { Past, QueueEntry } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { counted, DEAD, DELIVERED, entryOf, idsOf, Trial } from './trial.ts';

const EARLY = { tiers: [], early: true } as const;

const pastOf = (trial: Trial, past: Partial<Past> = {}): Past => ({
  sends: 3,
  ageMs: trial.ms(7),
  dueInMs: 0,
  progress: { failures: 2 },
  ...past,
});

const from = (messageId: string, past: Past): QueueEntry => ({
  ...entryOf('one', { messageId }),
  past,
});

export function describeMoving(harness: QueueHarness): void {
  describe('an early claim', () => {
    test('gives what is not due yet, in order, and tells how long it would have waited', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b', 'c');
      const verdicts = [trial.again(4, { maxMessages: 3, progress: 5 }), trial.again(2)];
      const pause = { waitMs: trial.ms(50) };
      await trial.settle(await trial.claim({ maxMessages: 2 }), verdicts, pause);
      await trial.advance(1);
      const claim = await trial.claim(EARLY);
      expect(idsOf(claim)).toEqual(['c', 'b', 'a']);
      const told = claim.messages.map(({ moving, sends, progress }) => [
        trial.units(moving?.dueInMs),
        moving?.sizeBytes,
        moving?.maxMessages,
        sends,
        progress,
      ]);
      expect(told).toEqual([
        [0, 100, undefined, 0, null],
        [1, 100, undefined, 1, null],
        [3, 100, 3, 1, 5],
      ]);
    });

    test('is of any tier, one application and format at a time, and none that is claimed', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('held', 'z');
      await trial.claim();
      await trial.enqueue('ill', 'a', 'b');
      await trial.settle(await trial.claim({ maxMessages: 1 }), DELIVERED, { tier: 'failing' });
      await trial.queue.enqueue([
        entryOf('well', { messageId: 'c' }),
        entryOf('well', { messageId: 'd', format: 1 }),
      ]);
      const given: string[] = [];
      for (let count = 0; count < 2; count += 1) given.push(idsOf(await trial.claim(EARLY)).join());
      expect(given.toSorted()).toEqual(['b', 'c']);
      // The rest of `well` waits until its claim is over.
      expect(await trial.queue.claim(trial.request(EARLY))).toEqual({});
    });

    test('keeps to the bounds of its request, not to those of the row', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b', 'c', 'd', 'e');
      const row = { maxMessages: 1, maxBytes: 1 };
      await trial.settle(await trial.claim({ maxMessages: 1 }), DELIVERED, row);
      const three = await trial.claim({ ...EARLY, maxMessages: 3 });
      expect(idsOf(three)).toEqual(['b', 'c', 'd']);
      await trial.queue.release(three);
      expect(idsOf(await trial.claim({ ...EARLY, maxBytes: 200 }))).toEqual(['b', 'c']);
    });

    test('leaves nothing behind where all it gave has moved, and can be released', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      await trial.queue.release(await trial.claim(EARLY));
      const claim = await trial.claim(EARLY);
      expect(claim.messages.map(({ sends }) => sends)).toEqual([0, 0]);
      await trial.queue.settle(claim, [{ kind: 'moved' }, DELIVERED], { ...claim.row, waitMs: 0 });
      expect(await trial.queue.claim(trial.request(EARLY))).toEqual({});
      const { discarded, pendingBytes } = await trial.queue.stats();
      expect([counted(discarded), pendingBytes]).toEqual([{ moved: 1 }, 0]);
      expect(await trial.counts()).toEqual([2, 1, 0, 0]);
    });
  });

  describe('what comes from another queue', () => {
    test('goes on with its sendings, age, wait, limit and progress', async () => {
      const trial = await Trial.start(harness);
      await trial.queue.enqueue([
        from('a', pastOf(trial, { maxMessages: 1 })),
        from('b', pastOf(trial, { dueInMs: trial.ms(5), progress: null, sends: 0 })),
      ]);
      const first = await trial.claim();
      expect(idsOf(first)).toEqual(['a']);
      expect(first.messages[0]).toMatchObject({ sends: 3, progress: { failures: 2 } });
      expect(trial.units(first.messages[0]?.ageMs)).toBe(7);
      await trial.settle(first, trial.again(9));
      expect(trial.units((await trial.nothing()).dueInMs)).toBe(5);
      await trial.advance(5);
      const second = await trial.claim();
      expect([idsOf(second), second.messages[0]?.sends]).toEqual([['b'], 0]);
      expect(trial.units(second.messages[0]?.ageMs)).toBe(12);
      await trial.settle(second, DELIVERED);
      await trial.advance(4);
      expect((await trial.claim()).messages[0]?.sends).toBe(4);
    });

    test('expires by the age that it brings along', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'young');
      await trial.queue.enqueue([from('old', pastOf(trial, { dueInMs: trial.ms(3) }))]);
      const expired = await trial.queue.expire(trial.ms(6), 10);
      expect(expired.map(({ messageId }) => messageId)).toEqual(['old']);
      expect(idsOf(await trial.claim())).toEqual(['young']);
    });

    test('is a dead letter where it was one, also of a closed application', async () => {
      const trial = await Trial.start(harness);
      await trial.queue.closeApplication('one', 1);
      const end = { status: 404 };
      const death = { reason: 'attempts-exhausted', end, diedAt: 1_700_000_000_000 } as const;
      const { closed } = await trial.queue.enqueue([
        from('a', pastOf(trial, { death })),
        from('b', pastOf(trial, { death: { reason: 'destination-closed', end: null } })),
        from('c', pastOf(trial)),
      ]);
      expect(closed).toEqual(['one']);
      expect(await trial.counts()).toEqual([2, 0, 0, 2]);
      const letters = await trial.deadLetters();
      expect(letters.map(({ stored, sends, reason }) => [stored.messageId, sends, reason])).toEqual(
        [
          ['a', 3, 'attempts-exhausted'],
          ['b', 3, 'destination-closed'],
        ],
      );
      const [a, b] = letters;
      expect(a).toMatchObject({ end, diedAt: death.diedAt, sizeBytes: 100 });
      for (const { diedAt, acceptedAt } of letters)
        expect(trial.units(diedAt - acceptedAt)).toBe(7);
      expect(b?.diedAt).toBeGreaterThan(death.diedAt);
    });
  });

  test('dead letters that have moved count as moved', async () => {
    const trial = await Trial.start(harness);
    await trial.enqueue('one', 'a', 'b');
    await trial.settle(await trial.claim(), DEAD);
    const [first] = await trial.deadLetters();
    expect(await trial.queue.purge({ ids: [first?.id ?? ''] }, 'moved')).toBe(1);
    expect(counted((await trial.queue.stats()).discarded)).toEqual({ moved: 1 });
    expect(await trial.counts()).toEqual([2, 0, 0, 1]);
  });
}
