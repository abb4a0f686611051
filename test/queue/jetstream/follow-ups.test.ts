/** What a row has ended of the dead letters, and is yet to be done: by whoever comes, once, and not by who comes too late. */
import { describe, expect, test } from 'vitest';
import type { Opened } from '../../../src/queue/jetstream/opened.ts';
import { purged, revived } from '../../../src/queue/jetstream/row-ends.ts';
import { natsProgram } from '../../helpers/nats-server.ts';
import {
  bringLetters,
  COUNT,
  forget,
  sequencesOf,
  startedServer,
  TOKEN,
  twoWithLetters,
} from './opened-processes.ts';

const viewOf = ({ work }: Opened) => work.view(TOKEN);

/** As a process leaves it that was killed after it wrote the row. */
const begin = async (one: Opened, what: 'purge' | 'replay', sequences: readonly number[]) => {
  await one.rows.change(viewOf(one), (row) =>
    what === 'purge' ? purged(row, sequences, 'purged') : revived(row, sequences),
  );
};

const purge = async ({ letterEnds }: Opened, sequence = 0): Promise<number> =>
  await letterEnds.purge({ ids: [`${sequence}`] }, 'purged');

const replay = async ({ letterEnds }: Opened, sequence = 0): Promise<number> =>
  await letterEnds.replay({ ids: [`${sequence}`] });

/** The row can be read by nobody. */
const damage = async ({ session: { store, names } }: Opened): Promise<void> => {
  const subject = names.row(TOKEN);
  const { sequence = 0 } = (await store.last(names.rows, subject)) ?? {};
  const body = Buffer.from('{');
  await store.replace({ subject, body, messageId: 'damage', lastSequence: sequence });
};

/** What waits is gone. */
const makeRoom = async ({ session: { store, names } }: Opened): Promise<void> => {
  await store.purge(names.messages, names.messagesOf(TOKEN), Number.MAX_SAFE_INTEGER);
};

describe.runIf(natsProgram !== undefined)('what is to be replayed', () => {
  test('is not, where another one has found no room for it since, and it was purged', async () => {
    const [one, other] = await twoWithLetters(1);
    const [first, second = 0] = await sequencesOf(one);
    await replay(one, first);
    await begin(other, 'replay', [second]);
    const { letters } = other;
    const read = letters.read.bind(letters);
    letters.read = async (sequences) => {
      const found = await read(sequences);
      expect(await replay(one, second)).toBe(0);
      await makeRoom(one);
      expect(await purge(one, second)).toBe(1);
      return found;
    };
    await other.followUps.finish(viewOf(other));
    const left = { pending: 0, dead: COUNT - 2, discarded: { purged: 1 } };
    expect(await one.stats.read()).toMatchObject(left);
    expect(await other.stats.read()).toMatchObject(left);
  });

  test('is tried again where there was no room for it before, and the row was written meanwhile', async () => {
    const [one, other] = await twoWithLetters(1);
    const [first, second] = await sequencesOf(one);
    await replay(one, first);
    const { rows } = one;
    const write = rows.write.bind(rows);
    const meanwhile: number[] = [];
    rows.write = async (view, row, revision) => {
      if (view.done.length > 0) {
        rows.write = write;
        meanwhile.push(await replay(other, second));
        await forget(other);
      }
      return await write(view, row, revision);
    };
    expect(await replay(one, second)).toBe(0);
    expect(meanwhile).toEqual([0]);
    await makeRoom(one);
    expect(await replay(one, second)).toBe(1);
  });

  test('and cannot be sent is said to whoever replays, and keeps nobody from purging others', async () => {
    const [one, other] = await twoWithLetters();
    const [first = 0, second = 0, third] = await sequencesOf(one);
    await begin(other, 'replay', [first]);
    one.letters.revive = () => Promise.reject(new Error('refused'));
    expect(await purge(one, second)).toBe(1);
    expect(viewOf(one).state).toMatchObject({ reviving: [first], deadGarbage: [second] });
    const { session } = one;
    expect(await session.store.get(session.names.dead, second)).toBeUndefined();
    await forget(one);
    expect(viewOf(one).state).toMatchObject({ reviving: [first], deadGarbage: [] });
    await expect(replay(one, third)).rejects.toThrow('refused');
  });
});

describe.runIf(natsProgram !== undefined)('what was done of a row', () => {
  test('and for which there was no room is written, however often others are quicker', async () => {
    const [one, other] = await twoWithLetters(1);
    const [first, second = 0] = await sequencesOf(one);
    await replay(one, first);
    const { rows } = one;
    const write = rows.write.bind(rows);
    let outrun = 3;
    rows.write = async (view, row, revision) => {
      if (view.done.length > 0 && outrun > 0) {
        outrun -= 1;
        await forget(other);
      }
      return await write(view, row, revision);
    };
    expect(await replay(one, second)).toBe(0);
    expect(outrun).toBe(0);
    expect(viewOf(one).state.reviving).toEqual([]);
    expect(await sequencesOf(one)).toHaveLength(COUNT - 1);
  });

  test('and could not be written is written by the next one', async () => {
    const [one] = await twoWithLetters(1);
    const [first, second = 0] = await sequencesOf(one);
    await replay(one, first);
    const { rows } = one;
    const write = rows.write.bind(rows);
    rows.write = async (view, row, revision) => {
      if (view.done.length > 0) throw new Error('no answer');
      return await write(view, row, revision);
    };
    await expect(replay(one, second)).rejects.toThrow('no answer');
    expect(viewOf(one).state.reviving).toEqual([second]);
    rows.write = write;
    expect(await sequencesOf(one)).toHaveLength(COUNT - 1);
    expect(viewOf(one).state.reviving).toEqual([]);
    await makeRoom(one);
    expect(await replay(one, second)).toBe(1);
  });

  test('is kept in mind once, however often the rest of it fails', async () => {
    const [one, other] = await twoWithLetters();
    const [first = 0, second = 0] = await sequencesOf(one);
    await begin(other, 'replay', [first]);
    await begin(other, 'purge', [second]);
    one.letters.revive = () => Promise.reject(new Error('refused'));
    for (let page = 0; page < 5; page += 1) await sequencesOf(one);
    expect(viewOf(one).done).toHaveLength(1);
  });

  test('does not wait for ever for a letter that the stream has lost', async () => {
    const [one, other] = await twoWithLetters();
    await begin(other, 'replay', [999]);
    await one.rows.refresh(viewOf(one));
    expect(viewOf(one).state.reviving).toEqual([999]);
    await one.followUps.finish(viewOf(one));
    expect(viewOf(one).state.reviving).toEqual([]);
    expect(await one.stats.read()).toMatchObject({ pending: 0, dead: COUNT });
  });
});

describe.runIf(natsProgram !== undefined)('a page of dead letters', () => {
  test('shows none that is purged, or to be sent again; that is done first', async () => {
    const [one, other] = await twoWithLetters();
    const [first = 0, second = 0, ...left] = await sequencesOf(one);
    await begin(other, 'purge', [first]);
    await begin(other, 'replay', [second]);
    const ids = [first, second, ...left].map(String);
    const { items } = await one.letterLists.page({ limit: 100, ids });
    expect(items.map(({ id }) => Number(id))).toEqual(left);
    const ended = { pending: 1, dead: COUNT - 2, discarded: { purged: 1 } };
    expect(await one.stats.read()).toMatchObject(ended);
    // With others in their place.
    await begin(other, 'purge', left.slice(0, 1));
    expect(await one.letterLists.page({ limit: 1 })).toMatchObject({
      items: [{ id: `${left[1]}` }],
      next: `${left[1]}`,
    });
  });

  test('shows those for which there is no room', async () => {
    const [one, other] = await twoWithLetters(1);
    const sequences = await sequencesOf(one);
    await begin(other, 'replay', sequences);
    expect(await sequencesOf(one)).toHaveLength(COUNT - 1);
    expect(await one.stats.read()).toMatchObject({ pending: 1, dead: COUNT - 1 });
  });

  test('of what is not known to have ended is not given', async () => {
    const [one] = await twoWithLetters();
    one.rows.refresh = () => Promise.reject(new Error('no answer'));
    await expect(sequencesOf(one)).rejects.toThrow('no answer');
    await expect(purge(one, 1)).rejects.toThrow('no answer');
  });

  test('does not show what is on its way', async () => {
    const [one, other] = await twoWithLetters();
    const [first = 0, ...left] = await sequencesOf(one);
    await begin(other, 'replay', [first]);
    one.letters.revive = () => Promise.reject(new Error('refused'));
    expect(await sequencesOf(one)).toEqual(left);
    expect(viewOf(one).state.reviving).toEqual([first]);
  });
});

describe.runIf(natsProgram !== undefined)('letters of many applications', () => {
  const ids = Array.from({ length: 40 }, (_, index) => `many-${index}`);

  const started = async (): Promise<Opened> => {
    const open = await startedServer();
    const one = await open();
    for (const id of ids) await bringLetters(one, id, 2);
    return one;
  };

  test('are not shown where they have ended, whichever it is', async () => {
    const one = await started();
    const { items } = await one.letterLists.page({ limit: 100 });
    expect(items).toHaveLength(2 * ids.length);
    // The second one of each.
    const second = items.filter((_, index) => index % 2 === 1);
    for (const { id, applicationId } of second) {
      const view = one.work.viewOf(applicationId);
      await one.rows.change(view, (row) => purged(row, [Number(id)], 'purged'));
    }
    const left = await one.letterLists.page({ limit: 100 });
    expect(left.items.map(({ applicationId }) => applicationId)).toEqual(ids);
  });

  test('are ended, all of them', async () => {
    const one = await started();
    expect(await one.letterEnds.replay({ applicationId: ids[39] ?? '' })).toBe(2);
    expect(await one.letterEnds.purge({}, 'purged')).toBe(78);
    expect(await one.stats.read()).toMatchObject({ pending: 2, dead: 0, accepted: 80 });
  });
});

describe.runIf(natsProgram !== undefined)('a row that cannot be read', () => {
  test.each(['purge', 'replay'] as const)(
    'keeps nobody from the letters of others in a %s, and is told afterwards',
    async (what) => {
      const open = await startedServer();
      const one = await open();
      await bringLetters(one, 'one', COUNT);
      await bringLetters(one, 'other', COUNT);
      await damage(one);
      const ended =
        what === 'purge' ? one.letterEnds.purge({}, 'purged') : one.letterEnds.replay({});
      await expect(ended).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
      const { items } = await one.letterLists.page({ limit: 100 });
      expect(items.map(({ applicationId }) => applicationId)).toEqual(
        Array.from({ length: COUNT }, () => 'one'),
      );
    },
  );
});
