/** Dead letters that several processes end at once: each of them ends once, and counts once. */
import { describe, expect, test } from 'vitest';
import type { Opened } from '../../../src/queue/jetstream/opened.ts';
import { purged, revived } from '../../../src/queue/jetstream/row-ends.ts';
import { natsProgram } from '../../helpers/nats-server.ts';
import {
  bringLetters,
  COUNT,
  forget,
  sequencesOf,
  TOKEN,
  twoWithLetters,
} from './opened-processes.ts';

const ENDS = {
  purge: ({ letterEnds }: Opened) => letterEnds.purge({}, 'purged'),
  replay: ({ letterEnds }: Opened) => letterEnds.replay({}),
} as const;

const TWO = [
  ['purge', 'purge', { pending: 0, discarded: { purged: COUNT } }],
  ['purge', 'replay', { pending: COUNT, discarded: {} }],
  ['replay', 'purge', { pending: 0, discarded: { purged: COUNT } }],
  ['replay', 'replay', { pending: COUNT, discarded: {} }],
] as const;

const LETTERS_OF_BOTH = { accepted: COUNT, dead: 0 };

describe.runIf(natsProgram !== undefined)('who has listed dead letters', () => {
  test.each(TWO)(
    'does not %s them where another did %s them since',
    async (later, sooner, left) => {
      const [one, other] = await twoWithLetters();
      const { letterLists } = one;
      const places = letterLists.places.bind(letterLists);
      letterLists.places = async function* (filter) {
        for await (const found of places(filter)) {
          await ENDS[sooner](other);
          await forget(other);
          yield found;
        }
      };
      expect(await ENDS[later](one)).toBe(0);
      expect(await one.stats.read()).toMatchObject({ ...LETTERS_OF_BOTH, ...left });
    },
  );

  test.each(TWO)(
    'and looked for them, does not %s them where another did %s them since',
    async (later, sooner, left) => {
      const [one, other] = await twoWithLetters();
      const { letterLists } = one;
      const stillThere = letterLists.stillThere.bind(letterLists);
      letterLists.stillThere = async (places) => {
        const found = await stillThere(places);
        letterLists.stillThere = stillThere;
        expect(await ENDS[sooner](other)).toBe(COUNT);
        await forget(other);
        // It knows the row by now as the other one has left it.
        await one.work.rowsCaughtUp(1000);
        return found;
      };
      expect(await ENDS[later](one)).toBe(0);
      expect(await one.stats.read()).toMatchObject({ ...LETTERS_OF_BOTH, ...left });
    },
  );

  test('ends those that are there still', async () => {
    const [one, other] = await twoWithLetters();
    const [first] = await sequencesOf(one);
    const { letterLists } = one;
    const places = letterLists.places.bind(letterLists);
    letterLists.places = async function* (filter) {
      for await (const found of places(filter)) {
        await other.letterEnds.purge({ ids: [`${first}`] }, 'purged');
        await forget(other);
        yield found;
      }
    };
    expect(await ENDS.purge(one)).toBe(COUNT - 1);
    const left = { ...LETTERS_OF_BOTH, discarded: { purged: COUNT } };
    expect(await one.stats.read()).toMatchObject(left);
  });

  test('does not end one that the row names already, also where that is over before the row is written', async () => {
    const [one, other] = await twoWithLetters();
    const [first = 0] = await sequencesOf(one);
    const view = other.work.view(TOKEN);
    const { letterLists } = one;
    const stillThere = letterLists.stillThere.bind(letterLists);
    const meanwhile = [
      () => other.rows.change(view, (row) => purged(row, [first], 'purged')),
      async () => {
        await other.followUps.finish(view);
        await forget(other);
      },
    ];
    letterLists.stillThere = async (places) => {
      const found = await stillThere(places);
      await meanwhile.shift()?.();
      return found;
    };
    expect(await ENDS.purge(one)).toBe(COUNT - 1);
    expect(meanwhile).toEqual([]);
    const left = { ...LETTERS_OF_BOTH, discarded: { purged: COUNT } };
    expect(await one.stats.read()).toMatchObject(left);
  });

  test('looks for them once, however often others write the row meanwhile', async () => {
    const [one, other] = await twoWithLetters();
    const [first] = await sequencesOf(other);
    await other.letterEnds.purge({ ids: [`${first}`] }, 'purged');
    const { letterLists } = one;
    const stillThere = letterLists.stillThere.bind(letterLists);
    let looks = 0;
    letterLists.stillThere = async (places) => {
      looks += 1;
      const found = await stillThere(places);
      await forget(other);
      return found;
    };
    expect(await ENDS.purge(one)).toBe(COUNT - 1);
    expect(looks).toBe(1);
  });
});

describe.runIf(natsProgram !== undefined)('what a process that was killed has left to do', () => {
  test.each([
    ['purge', { pending: 0, discarded: { purged: COUNT } }],
    ['replay', { pending: COUNT, discarded: {} }],
  ] as const)('of a %s is done by the next one', async (what, left) => {
    const [one, other] = await twoWithLetters();
    const sequences = await sequencesOf(other);
    await other.rows.change(other.work.view(TOKEN), (row) =>
      what === 'purge' ? purged(row, sequences, 'purged') : revived(row, sequences),
    );
    expect(await ENDS[what](one)).toBe(0);
    expect(await sequencesOf(one)).toEqual([]);
    expect(await one.stats.read()).toMatchObject({ ...LETTERS_OF_BOTH, ...left });
  });

  test('of a replay does not count where there is no room for it', async () => {
    const [one, other] = await twoWithLetters(1);
    await bringLetters(one, 'one', 1);
    const [first, second] = await sequencesOf(other);
    await other.letterEnds.replay({ ids: [`${first}`] });
    await other.rows.change(other.work.view(TOKEN), (row) => revived(row, [second ?? 0]));
    expect(await ENDS.replay(one)).toBe(0);
    expect(await one.stats.read()).toMatchObject({ pending: 1, dead: COUNT });
  });
});
