import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Coverage } from './coverage.ts';
import { missingPairs, SEEDS_THAT_MEET_ALL } from './required-pairs.ts';

const split = (pair: string): [string, string] => {
  const at = pair.indexOf(': ');
  return [pair.slice(0, at), pair.slice(at + 2)];
};

test('worlds that meet nothing miss every pair of fault and outcome', () => {
  const missing = missingPairs(new Coverage());
  expect(missing.length).toBeGreaterThan(200);
  expect(missing).toContain('hang: postponed');
  expect(new Set(missing).size).toBe(missing.length);
});

test('worlds that meet all pairs but one miss that one', () => {
  const [unmet, ...met] = missingPairs(new Coverage());
  const coverage = new Coverage();
  for (const pair of met) coverage.hit(...split(pair));
  expect(missingPairs(coverage)).toEqual([unmet]);
  coverage.hit(...split(unmet as string));
  expect(missingPairs(coverage)).toEqual([]);
});

test('the nightly run has as many worlds as it takes to meet all pairs', () => {
  const nightly = readFileSync(new URL('../../scripts/test-nightly.sh', import.meta.url), 'utf8');
  const [, seeds] = /npm run simulate -- --seeds (\d+) --from 1$/m.exec(nightly) ?? [];
  expect(Number(seeds)).toBeGreaterThanOrEqual(SEEDS_THAT_MEET_ALL);
});
