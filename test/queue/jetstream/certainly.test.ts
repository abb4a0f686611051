/** What a leader does not have: gone, or yet to come there. */
import { expect, test } from 'vitest';
import { certainly } from '../../../src/queue/jetstream/certainly.ts';
import { Lagging } from '../../../src/queue/jetstream/jetstream-failure.ts';
import type { Session } from '../../../src/queue/jetstream/session.ts';

/** Reads 3 and 7 of a leader that comes as far as is told, one step each time it is asked anything. */
function asked(steps: readonly (readonly [lastSequence: number, ...sequences: number[]])[]) {
  const left = [...steps];
  const step = () => left.shift() ?? [0];
  const state = () => Promise.resolve({ last_seq: step()[0] });
  const session = { store: { state } } as unknown as Session;
  const read = (sequences: readonly number[]) => {
    const [, ...there] = step();
    const found = sequences.filter((sequence) => there.includes(sequence));
    return Promise.resolve(new Map(found.map((sequence) => [sequence, `${sequence}`])));
  };
  return certainly(session, { stream: 's', sequences: [3, 7] }, read);
}

test('all are read once where they are there', async () => {
  expect([...(await asked([[7, 3, 7]])).values()]).toEqual(['3', '7']);
});

test('one is gone where the leader has come as far, and does not have it then', async () => {
  expect([...(await asked([[7, 3], [7], [7, 3]])).keys()]).toEqual([3]);
});

test('one is there where the leader came as far only after it was asked for it', async () => {
  expect([...(await asked([[6, 3], [7], [7, 3, 7]])).keys()]).toEqual([3, 7]);
});

test('nothing is said of one where the leader has not come as far', async () => {
  await expect(asked([[6, 3], [6]])).rejects.toBeInstanceOf(Lagging);
});
