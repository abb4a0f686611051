import fc from 'fast-check';
import { expect, test } from 'vitest';
import { afterPassed, afterTooLarge, type Budget, startBudget } from '../../src/delivery/budget.ts';

const LIMITS = { max: 10_000, growAfterSuccesses: 3, growth: 0.1 };

const budget = (max: number, passed = 0, successes = 0): Budget => ({ max, passed, successes });

test.each<[string, Budget, number, Budget]>([
  ['half of it', budget(10_000), 8000, budget(4000)],
  ['what has passed, where that is more', budget(10_000, 5000, 2), 8000, budget(5000, 5000)],
  ['half of it, where less has passed', budget(10_000, 3999, 2), 8000, budget(4000, 3999)],
  ['a byte less than it, where that has passed', budget(10_000, 7999), 8000, budget(7999, 7999)],
  ['half of it, where it passed before: that is over', budget(10_000, 8000), 8000, budget(4000)],
  ['a byte at least', budget(10_000), 1, budget(1)],
])('a body that was refused for its size leaves %s', (_title, before, bodyBytes, after) => {
  expect(afterTooLarge(before, bodyBytes)).toEqual(after);
});

test.each<[string, Budget, number, Budget]>([
  ['is remembered by a budget that is whole', budget(10_000), 500, budget(10_000, 500)],
  ['is not, where a larger one has passed', budget(10_000, 700), 500, budget(10_000, 700)],
  ['counts towards growth', budget(1000, 0, 0), 1000, budget(1000, 1000, 1)],
  ['counts from half of the budget on', budget(1000, 0, 1), 500, budget(1000, 500, 2)],
  ['does not count below it', budget(1000, 0, 1), 499, budget(1000, 499, 1)],
  ['grows the budget by a tenth', budget(1000, 900, 2), 800, budget(1100, 900)],
  ['grows it by a byte at least', budget(1, 1, 2), 1, budget(2, 1)],
  ['grows it up to the start', budget(9950, 9000, 2), 9000, budget(10_000, 9000)],
  ['counts nothing once it is whole', budget(10_000, 9000, 2), 9000, budget(10_000, 9000, 2)],
  ['cuts a budget that the option has become less than', budget(20_000), 1, budget(10_000, 1)],
])('a body that passed %s', (_title, before, bodyBytes, after) => {
  expect(afterPassed(before, bodyBytes, LIMITS)).toEqual(after);
});

test('after any requests a receiver with a limit is found out, and never asked for twice as much again', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9999 }), (limit) => {
      let now = startBudget(LIMITS.max);
      const found: number[] = [];
      for (let index = 0; index < 200; index += 1) {
        const bytes = now.max;
        now = bytes <= limit ? afterPassed(now, bytes, LIMITS) : afterTooLarge(now, bytes);
        if (index > 20) found.push(now.max);
      }
      expect(Math.max(...found)).toBeLessThanOrEqual(Math.ceil(limit * 1.1));
      expect(Math.min(...found)).toBeGreaterThanOrEqual(Math.floor(limit / 2));
    }),
  );
});
