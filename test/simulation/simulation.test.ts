import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { simulate } from './simulation.ts';

/** CI runs 100 worlds with `npm run simulate`, the nightly run 1000. */
const SEEDS = quickOrNightly(10, 30);

const { stackTraceLimit } = Error;

describe('The delivery engine in worlds full of faults', () => {
  // Aborting a timer creates an error. Its stack trace would cost more than the timer.
  beforeAll(() => {
    Error.stackTraceLimit = 0;
  });
  afterAll(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });

  test(`keeps every invariant in worlds 1 to ${SEEDS}`, async () => {
    const failed: string[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { violation } = await simulate(seed);
      if (violation === undefined) continue;
      const { invariant, detail } = violation;
      failed.push(`${invariant}: ${detail}; to repeat it: npm run simulate -- --seed ${seed}`);
    }
    expect(failed).toEqual([]);
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
