/** What is asked of a server that lags behind the stream's leader, and of a leader that was one a moment ago. */
import { describe, expect, test } from 'vitest';
import { Bodies } from '../../../src/queue/jetstream/bodies.ts';
import { Letters } from '../../../src/queue/jetstream/dead-letters.ts';
import { Unanswered } from '../../../src/queue/jetstream/jetstream-failure.ts';
import { namesOf, tokenOf } from '../../../src/queue/jetstream/names.ts';
import type { Session } from '../../../src/queue/jetstream/session.ts';
import type { Kept } from '../../../src/queue/jetstream/store.ts';
import { Work } from '../../../src/queue/jetstream/work.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { newId } from '../../../src/system/id.ts';
import { ROW } from '../conformance/trial.ts';
import { Consumers, untilMade } from './consumers.ts';

const names = namesOf('p');

const TOLD = { i: 'id', f: 2, d: -1, c: -1, s: 1, o: '', n: 0, k: 1, r: 'too-large', e: null };

const letterAt = (sequence: number): Kept => ({
  sequence,
  subject: names.letter(tokenOf('one'), sequence),
  storedMs: 0,
  told: JSON.stringify({ ...TOLD, a: 0, t: 0 }),
  body: Buffer.from('{}'),
});

/** A leader that has these, and how far its streams have come. */
const trial = (sequences: readonly number[], lastSequence: number, callTimeoutMs = 60_000) => {
  const consumers = new Consumers();
  const leader = { sequences, lastSequence };
  const at = (sequence: number | undefined): Kept | undefined =>
    sequence !== undefined && leader.sequences.includes(sequence) ? letterAt(sequence) : undefined;
  const session = {
    store: {
      last: () => Promise.resolve(at(leader.sequences.at(-1))),
      get: (_: string, sequence: number) => Promise.resolve(at(sequence)),
      state: () => Promise.resolve({ messages: 0, bytes: 0, last_seq: leader.lastSequence }),
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
  const bodies = new Bodies(session);
  const work = new Work(session, bodies, () => {});
  return { consumers, leader, work, letters: new Letters(session, work, bodies) };
};

const idsOf = ({ items }: { readonly items: readonly { readonly id: string }[] }): string[] =>
  items.map(({ id }) => id);

describe('dead letters', () => {
  test('are listed again where the server that lists them does not have the last one yet', async () => {
    const { consumers, letters } = trial([3, 7], 7);
    const page = letters.page({ limit: 10 });
    await untilMade(consumers, 1);
    consumers.message(3, 1, 0);
    consumers.made[0]?.answer({ name: 'lags', num_pending: 1 });
    await untilMade(consumers, 2);
    consumers.made[1]?.answer({ name: 'knows', num_pending: 2 });
    consumers.message(3, 1, 1);
    consumers.message(7, 2, 0);
    consumers.heartbeat(2);
    consumers.heartbeat(2);
    expect(idsOf(await page)).toEqual(['3', '7']);
  });

  test('are listed once where the last one was removed meanwhile', async () => {
    const { consumers, leader, letters } = trial([3, 7], 7);
    const page = letters.page({ limit: 10 });
    await untilMade(consumers, 1);
    leader.sequences = [3];
    consumers.message(3, 1, 0);
    consumers.made[0]?.answer({ name: 'c', num_pending: 1 });
    expect(idsOf(await page)).toEqual(['3']);
    expect(consumers.made).toHaveLength(1);
  });

  test('that are removed are not shown, though a server that lags lists them, and others come in their place', async () => {
    const { consumers, letters } = trial([3, 7, 8], 8);
    const page = letters.page({ limit: 1 });
    await untilMade(consumers, 1);
    consumers.message(3, 1, 3);
    consumers.message(5, 2, 2);
    consumers.made[0]?.answer({ name: 'lags', num_pending: 4 });
    await untilMade(consumers, 2);
    consumers.message(7, 1, 1);
    consumers.made[1]?.answer({ name: 'c', num_pending: 2 });
    expect(await page).toMatchObject({ items: [{ id: '3' }], next: '3' });
  });

  test('are not said to be gone by a leader that has not come as far yet', async () => {
    const { leader, letters } = trial([3], 6, 1000);
    await expect(trial([3], 6, 0).letters.there([3, 7])).rejects.toThrow('the leader lags behind');
    const there = letters.there([3, 7]);
    leader.sequences = [3, 7];
    expect(await there).toEqual([3, 7]);
  });

  test('are gone where the leader has come as far, and does not have them', async () => {
    expect(await trial([3], 7).letters.there([3, 7])).toEqual([3]);
  });
});

/** Its feeds have begun, and told nothing yet of the last row. */
const startedTrial = async (callTimeoutMs: number) => {
  const { consumers, work } = trial([7], 0, callTimeoutMs);
  const caughtUp = work.rowsCaughtUp();
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  caughtUp.then(over, over);
  await untilMade(consumers, 2);
  // The feed of rows is begun first.
  consumers.made[1]?.answer({ name: 'messages', num_pending: 0 });
  consumers.made[0]?.answer({ name: 'rows', num_pending: 0 });
  return { consumers, caughtUp, isOver: () => isOver };
};

describe('rows', () => {
  test('are waited for until the server that tells of them has told the last one', async () => {
    const { consumers, caughtUp, isOver } = await startedTrial(60_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(isOver()).toBe(false);
    consumers.message(7, 1, 0, 0);
    await caughtUp;
  });

  test('are not waited for longer than a call may take', async () => {
    const { caughtUp } = await startedTrial(50);
    await expect(caughtUp).rejects.toBeInstanceOf(Unanswered);
  });
});
