import { describe, expect, test } from 'vitest';
import {
  createYield,
  nextTurn,
  type YieldToEventLoop,
  yieldAlsoWhenBehind,
} from '../../src/runtime/yield-to-event-loop.ts';
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

/** Returns the turn in which each piece of work started. */
async function turnsOf(piecesMs: readonly number[]): Promise<number[]> {
  const clock = createFakeClock();
  const yieldToEventLoop = createYield(clock);
  const { turns, end } = countTurns();
  const ended: number[] = [];
  await yieldToEventLoop();
  for (const ms of piecesMs) {
    ended.push(turns());
    clock.elapse(ms);
    await yieldToEventLoop();
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
])('work of %j ms runs in the turns %j', async (piecesMs, turns) => {
  expect(await turnsOf(piecesMs)).toEqual(turns);
});

test('concurrent work shares the time of a turn and alternates', async () => {
  const clock = createFakeClock();
  const yieldToEventLoop = createYield(clock);
  const { turns, end } = countTurns();
  const done: string[] = [];
  const work = async (name: string): Promise<void> => {
    await yieldToEventLoop();
    for (let piece = 0; piece < 4; piece += 1) {
      done.push(`${name} in turn ${turns()}`);
      clock.elapse(3);
      await yieldToEventLoop();
    }
  };
  await Promise.all([work('a'), work('b')]);
  end();
  // The time is checked before a piece, so the last piece exceeds it.
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

test('idle time does not count towards a time slice', async () => {
  const clock = createFakeClock();
  const yieldToEventLoop = createYield(clock);
  await yieldToEventLoop();
  await nextTurn();
  await nextTurn();
  clock.elapse(60_000);
  const { turns, end } = countTurns();
  await yieldToEventLoop();
  expect(turns()).toBe(0);
  clock.elapse(5);
  await yieldToEventLoop();
  expect(turns()).toBe(1);
  end();
});

/** Awaits as many promises in sequence as a call of a sender. */
async function manyPromises(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await Promise.resolve();
}

test('a thousand small pieces of work fill the time of each turn', async () => {
  const clock = createFakeClock();
  const yieldToEventLoop = createYield(clock);
  const { turns, end } = countTurns();
  await yieldToEventLoop();
  clock.elapse(5);
  const ended: number[] = [];
  const work = async (): Promise<void> => {
    await yieldToEventLoop();
    await manyPromises();
    clock.elapse(0.1);
    ended.push(turns());
  };
  await Promise.all(Array.from({ length: 1000 }, work));
  end();
  // Sixteen at once, and the 4 ms are checked before each sixteen: 48 of 0.1 ms.
  expect(ended).toEqual(Array.from({ length: 1000 }, (_, index) => 1 + Math.floor(index / 48)));
});

test('work that arrives faster than sixteen per turn does not fall behind', async () => {
  const clock = createFakeClock();
  const yieldToEventLoop = createYield(clock);
  let inProgress = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    inProgress += 1;
    await yieldToEventLoop();
    await manyPromises();
    clock.elapse(0.01);
    await yieldToEventLoop();
    inProgress -= 1;
  };
  for (let turn = 0; turn < 50; turn += 1) {
    await yieldToEventLoop();
    // Work of the host that uses up this turn.
    clock.elapse(5);
    for (let count = 0; count < 100; count += 1) void work();
    await nextTurn();
    most = Math.max(most, inProgress);
  }
  expect(most).toBeLessThanOrEqual(100);
});

/** Returns the turn in which each piece started. */
async function turnsOfPieces(
  yieldToEventLoop: YieldToEventLoop,
  pieces: number,
): Promise<number[]> {
  const { turns, end } = countTurns();
  const begun: number[] = [];
  for (let piece = 0; piece < pieces; piece += 1) {
    begun.push(turns());
    await yieldToEventLoop();
  }
  end();
  return begun;
}

const never = (): boolean => false;

describe('yieldAlsoWhenBehind', () => {
  test('yields after 128 pieces of any length while behind', async () => {
    const yieldToEventLoop = yieldAlsoWhenBehind(createYield(createFakeClock()), () => true);
    const begun = await turnsOfPieces(yieldToEventLoop, 300);
    expect(begun).toEqual(begun.map((_, piece) => Math.floor(piece / 128)));
  });

  test('yields by time while not behind', async () => {
    const short = yieldAlsoWhenBehind(createYield(createFakeClock()), never);
    expect(new Set(await turnsOfPieces(short, 300))).toEqual(new Set([0]));
    const clock = createFakeClock();
    const yieldToEventLoop = yieldAlsoWhenBehind(createYield(clock), never);
    const long = (): Promise<void> | undefined => {
      clock.elapse(4);
      return yieldToEventLoop();
    };
    expect(await turnsOfPieces(long, 4)).toEqual([0, 0, 1, 2]);
  });

  test('uses the remaining time of the turn that it resumes in', async () => {
    const clock = createFakeClock();
    const yieldToEventLoop = createYield(clock);
    const one = yieldAlsoWhenBehind(yieldToEventLoop, () => true);
    for (let piece = 0; piece < 127; piece += 1) await one();
    const { turns, end } = countTurns();
    // Other work uses up the following turn first.
    setImmediate(() => {
      void yieldToEventLoop();
      clock.elapse(4);
    });
    await one();
    expect(turns()).toBe(2);
    end();
  });
});
