import { expect, test } from 'vitest';
import { givingWay } from '../../src/system/giving-way.ts';
import { nextTurn } from '../../src/system/next-turn.ts';
import { createFakeClock } from '../../src/testing/index.ts';

/** Counts the turns of the event loop until `end` is called. */
function countTurns(): { readonly turns: () => number; readonly end: () => void } {
  let turns = 0;
  let immediate = setImmediate(function count() {
    turns += 1;
    immediate = setImmediate(count);
  });
  return { turns: () => turns, end: () => clearImmediate(immediate) };
}

/** In which turn each of these pieces of work began. */
async function turnsOf(piecesMs: readonly number[]): Promise<number[]> {
  const clock = createFakeClock();
  const giveWay = givingWay(clock);
  const { turns, end } = countTurns();
  const ended: number[] = [];
  await giveWay();
  for (const ms of piecesMs) {
    ended.push(turns());
    clock.elapse(ms);
    await giveWay();
  }
  end();
  return ended;
}

test.each<[readonly number[], readonly number[]]>([
  [[3.9], [0]],
  [
    [2, 1, 0.9, 0.1, 1],
    [0, 0, 0, 0, 1],
  ],
  [
    [4, 1],
    [0, 1],
  ],
  [
    [500, 1, 3, 1],
    [0, 1, 1, 2],
  ],
])('work of %j ms is done in the turns %j', async (piecesMs, turns) => {
  expect(await turnsOf(piecesMs)).toEqual(turns);
});

test('works that are under way together share the time of a turn, and take turns', async () => {
  const clock = createFakeClock();
  const giveWay = givingWay(clock);
  const { turns, end } = countTurns();
  const done: string[] = [];
  const work = async (name: string): Promise<void> => {
    await giveWay();
    for (let piece = 0; piece < 4; piece += 1) {
      done.push(`${name} in turn ${turns()}`);
      clock.elapse(3);
      await giveWay();
    }
  };
  await Promise.all([work('a'), work('b')]);
  end();
  // Whether time is left is asked before a piece, so the last of them exceeds it.
  expect(done).toEqual([
    'a in turn 0',
    'b in turn 0',
    'a in turn 0',
    'b in turn 1',
    'a in turn 1',
    'b in turn 1',
    'a in turn 2',
    'b in turn 2',
  ]);
});

test('time that passed while nothing was under way is nobody’s', async () => {
  const clock = createFakeClock();
  const giveWay = givingWay(clock);
  await giveWay();
  await nextTurn();
  await nextTurn();
  clock.elapse(60_000);
  const { turns, end } = countTurns();
  await giveWay();
  expect(turns()).toBe(0);
  clock.elapse(5);
  await giveWay();
  expect(turns()).toBe(1);
  end();
});

test('a thousand works of one small piece each are over after few turns', async () => {
  const clock = createFakeClock();
  const giveWay = givingWay(clock);
  const { turns, end } = countTurns();
  await giveWay();
  clock.elapse(5);
  const ended: number[] = [];
  const work = async (): Promise<void> => {
    await giveWay();
    clock.elapse(0.1);
    ended.push(turns());
  };
  await Promise.all(Array.from({ length: 1000 }, work));
  end();
  expect(ended).toEqual(Array.from({ length: 1000 }, (_, index) => 1 + Math.floor(index / 16)));
});
