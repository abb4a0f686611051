import { describe, expect, test } from 'vitest';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { simulate } from './simulation.ts';
import { simulateWorlds } from './worlds.ts';

/** CI runs 100 worlds with `npm run simulate`, the nightly run 1000. */
const SEEDS = quickOrNightly(10, 30);

describe('The delivery engine in worlds full of faults', () => {
  test(`keeps every invariant in worlds 1 to ${SEEDS}`, async () => {
    expect((await simulateWorlds(SEEDS)).failures).toEqual([]);
  });

  test('repeats the same trace when the seed is the same', async () => {
    for (const seed of quickOrNightly([1, 6], [1, 6, 577])) {
      const [first, second]: [string[], string[]] = [[], []];
      await simulate(seed, { trace: first });
      await simulate(seed, { trace: second });
      expect(first.length).toBeGreaterThan(30);
      expect(second).toEqual(first);
    }
  });
});
