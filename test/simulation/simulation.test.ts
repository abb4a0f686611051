import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from '../helpers/package-files.ts';
import { MUTATIONS } from './mutations.ts';
import { simulate } from './simulation.ts';

/** `npm run simulate -- --seeds 1000` runs more, and CI does. */
const SEEDS = 60;

describe('the delivery engine, simulated', () => {
  test('keeps every invariant, whatever receivers, settings and processes do', async () => {
    const failed: string[] = [];
    let attempts = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const outcome = await simulate(seed);
      attempts += outcome.attempts;
      if (outcome.violation === undefined) continue;
      const { invariant, detail } = outcome.violation;
      failed.push(`npm run simulate -- --seed ${seed}: ${invariant}: ${detail}`);
    }
    expect(failed).toEqual([]);
    expect(attempts).toBeGreaterThan(SEEDS * 10);
  });

  test('tells the same of a seed each time', async () => {
    const traces: string[][] = [[], []];
    for (const trace of traces) await simulate(7, trace);
    expect(traces[0]?.length).toBeGreaterThan(10);
    expect(traces[1]).toEqual(traces[0]);
  });
});

describe('a planted bug', () => {
  test.each(MUTATIONS)('has its one place in the sources: $name', ({ file, from, to }) => {
    const text = readFileSync(join(root, 'src', file), 'utf8');
    expect(text.split(from)).toHaveLength(2);
    expect(to).not.toBe(from);
  });

  test('is one of at least fifteen', () => {
    expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBeGreaterThanOrEqual(15);
  });
});
