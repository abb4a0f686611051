/**
 * The worlds and invariants of the simulation, on an SQLite queue. A seed decides everything but
 * the order in which calls that are under way at the same moment are answered.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { FLAWS } from './flaws.ts';
import { inFile } from './in-a-file.ts';
import { failuresOf, findFlaw, runWorlds } from './run-worlds.ts';

const AT_A_TIME = 4;
const MINUTES = 60_000;

const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

describe('The delivery engine on an SQLite queue', () => {
  const seeds = quickOrNightly(12, 120);

  test(`keeps every invariant in worlds 1 to ${seeds}, over crashes and restarts`, {
    timeout: 10 * MINUTES,
  }, async () => {
    let copies = 0;
    const onCopy = (): void => {
      copies += 1;
    };
    const outcomes = await runWorlds(inFile({ onCopy }), { seeds, atATime: AT_A_TIME });
    expect(failuresOf(outcomes, 'sqlite')).toEqual([]);
    expect(outcomes.reduce((sum, { crashes }) => sum + crashes, 0)).toBeGreaterThan(seeds / 4);
    expect(copies).toBeGreaterThan(0);
  });

  test.each(Object.entries(FLAWS))('lets the simulation find that it %s', async (_, makeSpoil) => {
    expect(await findFlaw(() => inFile({ spoil: makeSpoil() }))).toBeDefined();
  });

  test('lets the simulation find that a crash loses the last write', async () => {
    expect(await findFlaw(() => inFile({ losesLastWrite: true }))).toBeDefined();
  });
});
