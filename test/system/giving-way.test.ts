import { expect, test } from 'vitest';
import { givingWay } from '../../src/system/giving-way.ts';
import { createFakeClock } from '../../src/testing/index.ts';

/** How many of these pieces of work came before the event loop turned; all where it did not. */
async function piecesBeforeTurn(piecesMs: readonly number[]): Promise<number> {
  const clock = createFakeClock();
  const giveWay = givingWay(clock);
  let done = 0;
  let doneBefore: number | undefined;
  const turn = setImmediate(() => {
    doneBefore = done;
  });
  for (const ms of piecesMs) {
    clock.elapse(ms);
    done += 1;
    await giveWay();
  }
  clearImmediate(turn);
  return doneBefore ?? done;
}

test.each<[readonly number[], number]>([
  [[9.9], 1],
  [[3, 3, 3], 3],
  [[10, 1], 1],
  [[3, 3, 3, 1, 1], 4],
  [[500, 1], 1],
])('work of %j ms gives way after %i pieces', async (piecesMs, before) => {
  expect(await piecesBeforeTurn(piecesMs)).toBe(before);
});

test('each turn begins a new slice', async () => {
  const clock = createFakeClock();
  const giveWay = givingWay(clock);
  const turnsAfter: number[] = [];
  let turns = 0;
  let turn = setImmediate(function count() {
    turns += 1;
    turn = setImmediate(count);
  });
  for (let pieces = 1; pieces <= 6; pieces += 1) {
    const before = turns;
    clock.elapse(5);
    await giveWay();
    if (turns > before) turnsAfter.push(pieces);
  }
  clearImmediate(turn);
  expect(turnsAfter).toEqual([2, 4, 6]);
});
