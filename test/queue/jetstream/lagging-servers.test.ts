/** What is asked of a server that lags behind the stream's leader, and of a leader that became one a moment ago. */
import { describe, expect, test } from 'vitest';
import { Bodies } from '../../../src/queue/jetstream/bodies.ts';
import { failure, Lagging } from '../../../src/queue/jetstream/jetstream-failure.ts';
import { placeOf } from '../../../src/queue/jetstream/letter-code.ts';
import { LetterLists } from '../../../src/queue/jetstream/letter-lists.ts';
import { LetterReads } from '../../../src/queue/jetstream/letter-reads.ts';
import { namesOf, tokenOf } from '../../../src/queue/jetstream/names.ts';
import type { Session } from '../../../src/queue/jetstream/session.ts';
import { Stats } from '../../../src/queue/jetstream/stats.ts';
import type { Kept } from '../../../src/queue/jetstream/store.ts';
import { Work } from '../../../src/queue/jetstream/work.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { newId } from '../../../src/system/id.ts';
import { ROW } from '../conformance/trial.ts';
import { Consumers, untilMade } from './consumers.ts';

const names = namesOf('p');

const TOLD = { i: 'id', f: 2, d: -1, c: -1, o: '', n: 0, k: 1, r: 'too-large', e: null };

const letterAt = (sequence: number, sizeBytes = 1): Kept => ({
  sequence,
  subject: names.letter(tokenOf('one'), sequence),
  storedMs: 0,
  told: JSON.stringify({ ...TOLD, s: sizeBytes, a: 0, t: 0 }),
  body: Buffer.from('{}'),
});

const placeAt = (sequence: number) => placeOf(letterAt(sequence));

/** Rows that have not ended one of them. */
const NONE_ENDED = { rows: { refresh: () => Promise.resolve() }, followUps: {} } as never;

/** A leader that has these, and how far its streams have come. */
const trial = (sequences: readonly number[], lastSequence: number, callTimeoutMs = 60_000) => {
  const consumers = new Consumers();
  consumers.told = letterAt(0).told;
  const leader = { sequences, lastSequence, whenAsked: () => {} };
  const kept = (sequence: number | undefined): Promise<Kept | undefined> =>
    Promise.resolve(sequence === undefined ? undefined : letterAt(sequence));
  const session = {
    store: {
      last: () => kept(leader.sequences.at(-1)),
      get: (_: string, asked: number) => kept(leader.sequences.find((one) => one === asked)),
      next: (_: string, __: string, from: number) =>
        kept(leader.sequences.find((one) => one >= from)),
      state: () => {
        leader.whenAsked();
        return Promise.resolve({ messages: 9, bytes: 0, last_seq: leader.lastSequence });
      },
    },
    link: consumers,
    names,
    clock: systemClock,
    callTimeoutMs,
    maxKept: 1000,
    newId,
    time: { now: () => 0, of: (stampMs: number) => stampMs },
    stamped: () => {},
    beginning: () => ({ row: { ...ROW, tier: 'healthy' as const }, lingerMs: 0 }),
  } as unknown as Session;
  const work = new Work(session, new Bodies(session), () => {});
  const stats = new Stats(session, work, {} as never);
  const letterLists = new LetterLists(session, work, NONE_ENDED);
  return { consumers, leader, work, stats, lists: letterLists, reads: new LetterReads(session) };
};

type Trial = ReturnType<typeof trial>;

/** A server's list: these, one after the other, and no more. */
async function lists({ consumers }: Trial, nth: number, sequences: readonly number[]) {
  await untilMade(consumers, nth);
  // Whose count was wrong once is believed by its heartbeats only.
  consumers.made[nth - 1]?.answer({ name: 'c', num_pending: sequences.length });
  await new Promise(setImmediate);
  for (const [index, sequence] of sequences.entries())
    consumers.message(sequence, index + 1, sequences.length - index - 1);
  consumers.heartbeat(sequences.length);
  consumers.heartbeat(sequences.length);
}

const idsOf = ({ items }: { readonly items: readonly { readonly id: string }[] }): string[] =>
  items.map(({ id }) => id);

describe('dead letters', () => {
  test('are listed again where the server that lists them does not have the last one yet', async () => {
    const given = trial([3, 7], 7);
    const page = given.lists.page({ limit: 10 });
    await lists(given, 1, [3]);
    await lists(given, 2, [3, 7]);
    expect(idsOf(await page)).toEqual(['3', '7']);
  });

  test('are listed again where it lacks one before the last, and that was removed meanwhile', async () => {
    const given = trial([3, 5, 7], 7);
    const page = given.lists.page({ limit: 10 });
    await untilMade(given.consumers, 1);
    given.leader.sequences = [3, 5];
    await lists(given, 1, [3]);
    await lists(given, 2, [3, 5]);
    expect(idsOf(await page)).toEqual(['3', '5']);
  });

  test('are listed again where a new leader has not come as far as the last one', async () => {
    const given = trial([3, 7], 7);
    const page = given.lists.page({ limit: 10 });
    await untilMade(given.consumers, 1);
    Object.assign(given.leader, { sequences: [3], lastSequence: 6 });
    await lists(given, 1, [3]);
    await untilMade(given.consumers, 2);
    Object.assign(given.leader, { sequences: [3, 7], lastSequence: 7 });
    await lists(given, 2, [3, 7]);
    expect(idsOf(await page)).toEqual(['3', '7']);
  });

  test('are listed again where a new leader came as far only after it was asked what is to come', async () => {
    const given = trial([3, 7], 7);
    const page = given.lists.page({ limit: 10 });
    await untilMade(given.consumers, 1);
    given.leader.sequences = [3];
    given.leader.whenAsked = () => {
      given.leader.sequences = [3, 7];
    };
    await lists(given, 1, [3]);
    await lists(given, 2, [3, 7]);
    expect(idsOf(await page)).toEqual(['3', '7']);
  });

  test('are listed once where the last one was removed meanwhile', async () => {
    const given = trial([3, 7], 7);
    const page = given.lists.page({ limit: 10 });
    await untilMade(given.consumers, 1);
    given.leader.sequences = [3];
    await lists(given, 1, [3]);
    expect(idsOf(await page)).toEqual(['3']);
    expect(given.consumers.made).toHaveLength(1);
  });

  test('are listed once where others came meanwhile', async () => {
    const given = trial([3], 3);
    const page = given.lists.page({ limit: 10 });
    await untilMade(given.consumers, 1);
    Object.assign(given.leader, { sequences: [8], lastSequence: 8 });
    await lists(given, 1, []);
    expect(idsOf(await page)).toEqual([]);
    expect(given.consumers.made).toHaveLength(1);
  });

  test('that are removed are not shown, though a server that lags lists them, and others come in their place', async () => {
    const listed = Array.from({ length: 101 }, (_, index) => index + 1);
    const there = listed.filter((sequence) => sequence !== 5);
    const given = trial([...there, 107, 108], 108);
    const page = given.lists.page({ limit: 100 });
    await lists(given, 1, listed);
    await lists(given, 2, [107, 108]);
    expect(await page).toMatchObject({ next: '101' });
    expect(idsOf(await page)).toEqual(there.map(String));
  });

  test('are not passed over where a new leader does not have them yet', async () => {
    const given = trial([3, 7], 7);
    const page = given.lists.page({ limit: 10 });
    await untilMade(given.consumers, 1);
    Object.assign(given.leader, { sequences: [3], lastSequence: 6 });
    await lists(given, 1, [3, 7]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    Object.assign(given.leader, { sequences: [3, 7], lastSequence: 7 });
    expect(idsOf(await page)).toEqual(['3', '7']);
    expect(given.consumers.made).toHaveLength(1);
  });

  test('are not said to be gone by a leader that has not come as far yet', async () => {
    const places = [placeAt(3), placeAt(7)];
    await expect(trial([3], 6, 0).lists.stillThere(places)).rejects.toBeInstanceOf(Lagging);
    const { leader, lists: late } = trial([3], 6, 1000);
    const there = late.stillThere(places);
    leader.sequences = [3, 7];
    expect(await there).toEqual(places);
  });

  test('that are to be sent again are read again where a new leader does not have them yet', async () => {
    const { leader, reads } = trial([3], 6);
    const known = reads.known([3, 7]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    Object.assign(leader, { sequences: [3, 7], lastSequence: 7 });
    expect((await known).map(({ sequence }) => sequence)).toEqual([3, 7]);
  });

  test('that are to be sent again are gone where the stream ends before them for long: it lost its end', async () => {
    const found = await trial([3], 6).reads.known([3, 7]);
    expect(found.map(({ sequence }) => sequence)).toEqual([3]);
  });

  test('are gone where the leader has come as far, and does not have them', async () => {
    const there = await trial([3], 7).lists.stillThere([placeAt(3), placeAt(7)]);
    expect(there).toEqual([placeAt(3)]);
  });
});

/** How many were asked for at most at the same time, and how many bytes these have. */
const watched = () => {
  const most = { count: 0, bytes: 0 };
  const now = { count: 0, bytes: 0 };
  const sizes = new Set<number | undefined>();
  const read = (sizeBytes: number) => {
    const get = async (_: string, sequence: number, known?: number) => {
      sizes.add(known);
      now.count += 1;
      now.bytes += sizeBytes;
      most.count = Math.max(most.count, now.count);
      most.bytes = Math.max(most.bytes, now.bytes);
      await new Promise(setImmediate);
      now.count -= 1;
      now.bytes -= sizeBytes;
      return letterAt(sequence, sizeBytes);
    };
    return { store: { get }, names, clock: systemClock } as unknown as Session;
  };
  return { most, read, sizes };
};

describe('letters that are read', () => {
  const MIB = 1024 * 1024;
  const sequences = Array.from({ length: 1200 }, (_, index) => index + 1);

  test.each([
    { size: 'small', sizeBytes: 1000, count: 500 },
    { size: 'large', sizeBytes: MIB, count: 8 },
    { size: 'larger than all that may be', sizeBytes: 20 * MIB, count: 1 },
  ])('are $count at once where they are $size', async ({ sizeBytes, count }) => {
    const { most, read, sizes } = watched();
    const places = sequences.map((sequence) => placeOf(letterAt(sequence, sizeBytes)));
    const reads = new LetterReads(read(sizeBytes));
    const found = await reads.listed(places);
    expect(found.map(({ sequence }) => sequence)).toEqual(sequences);
    expect(await reads.stillThere(places)).toEqual(places);
    expect(most).toEqual({ count, bytes: count * sizeBytes });
    expect(sizes).toEqual(new Set([sizeBytes]));
  });

  test('are few at once where their size is not known', async () => {
    const { most, read } = watched();
    const letterLists = new LetterLists(read(MIB), {} as never, NONE_ENDED);
    const found: number[] = [];
    for await (const places of letterLists.places({ ids: sequences.map(String) })) {
      found.push(...places.map(({ sequence }) => sequence));
    }
    expect(found).toEqual(sequences);
    expect(most.count).toBe(32);
  });
});

/** The feeds have begun, and told nothing yet of the last row. */
const begin = async ({ consumers }: Trial): Promise<void> => {
  await untilMade(consumers, 2);
  // The feed of rows is begun first.
  consumers.made[1]?.answer({ name: 'messages', num_pending: 0 });
  consumers.made[0]?.answer({ name: 'rows', num_pending: 0 });
};

describe('rows', () => {
  test('are waited for until the server that tells of them has told the last one', async () => {
    const given = trial([7], 0);
    let isOver = false;
    const caughtUp = given.work.rowsCaughtUp(60_000).finally(() => {
      isOver = true;
    });
    await begin(given);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(isOver).toBe(false);
    given.consumers.message(7, 1, 0, 0);
    await caughtUp;
  });

  test('are asked of another server where one does not tell them', async () => {
    const given = trial([7], 0);
    const caughtUp = given.work.rowsCaughtUp(60_000);
    await begin(given);
    await untilMade(given.consumers, 3);
    given.consumers.made[2]?.answer({ name: 'rows', num_pending: 1 });
    given.consumers.message(7, 1, 0, 2);
    await caughtUp;
    expect(given.consumers.made).toHaveLength(3);
  });

  test('are waited for by whoever counts, not longer than a call may take', async () => {
    const given = trial([7], 0, 50);
    const stats = given.stats.read();
    await begin(given);
    const error = await stats.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Lagging);
    expect(failure(error).message).toContain('has not caught up');
  });

  test('do not hold up who closes: all that lies in the stream is told', async () => {
    const given = trial([7], 0);
    const begun = given.work.ready();
    await begin(given);
    await begun;
    expect(await given.stats.left()).toBe(9);
  });
});
