/** Law 5. */
import { describe, expect, test } from 'vitest';
import type { DeadLetterFilter } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { DELIVERED, entryOf, retry, Trial } from './trial.ts';

/** a, b and c of `one`, d and e of `two`. */
async function fiveDead(harness: QueueHarness): Promise<Trial> {
  const trial = await Trial.start(harness);
  await trial.enqueue('one', 'a', 'b', 'c');
  await trial.enqueue('two', 'd', 'e');
  await trial.deadLetterDue();
  return trial;
}

const namesIn = async (trial: Trial, filter: DeadLetterFilter = {}): Promise<string[]> => {
  const { items } = await trial.queue.listDeadLetters({ ...filter, limit: 100 });
  return items.map(({ stored }) => stored.messageId);
};

/** Filters name messages, since each queue makes its own ids. */
const FILTERS = [
  { title: 'of an application', names: undefined, applicationId: 'two', wanted: ['d', 'e'] },
  { title: 'by id, of an application', names: ['e', 'b'], applicationId: 'one', wanted: ['b'] },
  { title: 'by no id', names: [], applicationId: undefined, wanted: [] },
] as const;

async function filterOf(
  trial: Trial,
  { names, applicationId }: Pick<(typeof FILTERS)[number], 'names' | 'applicationId'>,
): Promise<DeadLetterFilter> {
  const letters = await trial.deadLetters();
  const wanted = new Set<string>(names);
  const ids = letters.filter(({ stored }) => wanted.has(stored.messageId)).map(({ id }) => id);
  return {
    ...(names === undefined ? {} : { ids }),
    ...(applicationId === undefined ? {} : { applicationId }),
  };
}

export function describeDeadLetters(harness: QueueHarness): void {
  describe('dead letters', () => {
    test('have the message, its sends, the reason and the time', async () => {
      const trial = await Trial.start(harness);
      const entry = entryOf('one', { bytes: Buffer.from([0, 255, 10]) });
      await trial.queue.enqueue([entry]);
      await trial.settle(await trial.claim(), retry(0));
      await trial.advance(3000);
      const lastAttempt = { status: 413, more: [null] };
      await trial.settle(await trial.claim(), { kind: 'dead', reason: 'too-large', lastAttempt });
      const [letter] = await trial.deadLetters();
      const death = { sends: 2, reason: 'too-large', lastAttempt };
      expect(letter).toMatchObject({ applicationId: 'one', ...death });
      expect(letter?.stored).toEqual(entry.stored);
      expect((letter?.diedAt ?? 0) - (letter?.acceptedAt ?? 0)).toBe(3000);
      expect(new Date(letter?.diedAt ?? 0).getUTCFullYear()).toBeGreaterThan(2025);
    });

    test('come in pages, oldest first, also after a cursor that was purged', async () => {
      const trial = await fiveDead(harness);
      const pages: string[][] = [];
      for (let after: string | undefined = '0'; after !== undefined; ) {
        const page = await trial.queue.listDeadLetters({ limit: 2, after });
        pages.push(page.items.map(({ stored }) => stored.messageId));
        after = page.next;
        if (after === undefined) break;
        expect(after).toBe(page.items.at(-1)?.id);
        await trial.queue.purgeDeadLetters({ ids: [after] });
      }
      expect(pages).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
      expect(await namesIn(trial)).toEqual(['a', 'c', 'e']);
    });

    test.each(['a', '', '-1', '1.5'])(
      'are not listed after %j, which is no cursor',
      async (after) => {
        const trial = await fiveDead(harness);
        const listing = trial.queue.listDeadLetters({ limit: 2, after });
        const refused = { code: 'ERR_INVALID_OPTION', path: ['after'] };
        await expect(listing).rejects.toMatchObject(refused);
      },
    );

    test('have no next page when the last one is full', async () => {
      const trial = await fiveDead(harness);
      expect(await trial.queue.listDeadLetters({ limit: 5 })).not.toHaveProperty('next');
      const { next } = await trial.queue.listDeadLetters({ limit: 2, applicationId: 'one' });
      const last = { limit: 1, applicationId: 'one', after: next };
      const rest = await trial.queue.listDeadLetters(last);
      expect(rest.items).toMatchObject([{ stored: { messageId: 'c' } }]);
      expect(rest).not.toHaveProperty('next');
    });

    test.each(FILTERS)('are listed, replayed and purged $title', async ({ wanted, ...filter }) => {
      const trial = await fiveDead(harness);
      const count = wanted.length;
      expect(await namesIn(trial, await filterOf(trial, filter))).toEqual([...wanted]);
      expect(await trial.queue.replayDeadLetters(await filterOf(trial, filter))).toBe(count);
      const left = ['a', 'b', 'c', 'd', 'e'].filter((name) => !wanted.some((one) => one === name));
      expect(await namesIn(trial)).toEqual(left);
      expect(await trial.counts()).toEqual([5, 0, count, 5 - count]);
      await trial.deadLetterDue();
      expect(await trial.queue.purgeDeadLetters(await filterOf(trial, filter))).toBe(count);
      expect(await namesIn(trial)).toEqual(left);
      expect(await trial.counts()).toEqual([5, 0, 0, 5 - count]);
    });

    test('are replayed except those of closed applications', async () => {
      const trial = await fiveDead(harness);
      await trial.enqueue('one', 'z');
      await trial.settle(await trial.claim(), DELIVERED, { health: 'closed' });
      expect(await trial.queue.replayDeadLetters({})).toBe(2);
      expect(await namesIn(trial)).toEqual(['a', 'b', 'c']);
      await trial.queue.reopenApplication('one');
      expect(await trial.queue.replayDeadLetters({ applicationId: 'one' })).toBe(3);
    });

    test.each([{ maxPendingMessages: 2 }, { maxPendingBytes: 250 }])(
      'are replayed while there is room within %j, the oldest first',
      async (bounds) => {
        const trial = await Trial.start(harness, bounds);
        for (const name of ['a', 'b', 'c']) {
          await trial.enqueue('one', name);
          await trial.deadLetterDue();
        }
        expect(await trial.queue.replayDeadLetters({})).toBe(2);
        expect(await namesIn(trial)).toEqual(['c']);
        expect(await trial.counts()).toEqual([3, 0, 2, 1]);
      },
    );
  });
}
