/**
 * Runs simulated worlds on an SQLite queue. A seed decides everything except the order of concurrent
 * calls.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { type Outcome, simulate } from './simulation.ts';
import { sqliteBackend } from './sqlite-backend.ts';

/** Concurrent worlds: each mostly waits for its queue. */
const CONCURRENCY = 4;
/** Maximum number of worlds until a planted bug of the queue is found. */
const SEEDS_TO_FIND = 20;

const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

describe('The delivery engine on an SQLite queue', () => {
  const seeds = quickOrNightly(12, 120);

  test(`keeps every invariant in worlds 1 to ${seeds} with crashes and restarts`, {
    timeout: 600_000,
  }, async () => {
    let copies = 0;
    const onCopy = (): void => {
      copies += 1;
    };
    const waiting = Array.from({ length: seeds }, (_, index) => index + 1);
    const outcomes: Outcome[] = [];
    const work = async (): Promise<void> => {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        outcomes.push(await simulate(seed, { makeBackend: sqliteBackend({ onCopy }) }));
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    const failures = outcomes.flatMap(({ seed, violation }) =>
      violation === undefined
        ? []
        : [`${violation.detail}; to repeat it: npm run simulate -- --queue sqlite --seed ${seed}`],
    );
    expect(failures).toEqual([]);
    expect(outcomes.reduce((sum, { crashes }) => sum + crashes, 0)).toBeGreaterThan(seeds / 4);
    expect(copies).toBeGreaterThan(0);
  });

  test('breaks an invariant when a crash loses the last write', async () => {
    let found: string | undefined;
    for (let seed = 1; seed <= SEEDS_TO_FIND && found === undefined; seed += 1) {
      const { violation } = await simulate(seed, {
        makeBackend: sqliteBackend({ losesLastWrite: true }),
      });
      found = violation?.invariant;
    }
    expect(found).toBeDefined();
  });
});
