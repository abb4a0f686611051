/**
 * The worlds and invariants of the simulation, on a LevelDB queue. A seed decides everything but
 * the order in which calls that are under way at the same moment are answered.
 */
import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { FLAWS } from './flaws.ts';
import { inFolder } from './in-a-folder.ts';
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

/** The last record that LevelDB wrote to its log is cut, and what was written with it. */
function cutTail(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const { size } = statSync(path);
    if (name.endsWith('.log') && size > 0) truncateSync(path, size - 1);
  }
}

describe('The delivery engine on a queue in a folder', () => {
  const seeds = quickOrNightly(12, 120);

  test(`keeps every invariant in worlds 1 to ${seeds}, over crashes and restarts`, {
    timeout: 10 * MINUTES,
  }, async () => {
    const outcomes = await runWorlds(inFolder(), { seeds, atATime: AT_A_TIME });
    expect(failuresOf(outcomes, 'level')).toEqual([]);
    expect(outcomes.reduce((sum, { crashes }) => sum + crashes, 0)).toBeGreaterThan(seeds / 4);
  });

  test.each(Object.entries(FLAWS))('lets the simulation find that it %s', async (_, makeSpoil) => {
    expect(await findFlaw(() => inFolder({ spoil: makeSpoil() }))).toBeDefined();
  });

  test('lets the simulation find that it loses its last write in a crash', async () => {
    expect(await findFlaw(() => inFolder({ spoilFolder: cutTail }))).toBeDefined();
  });
});
