/**
 * Runs simulated worlds on an SQLite queue. A seed decides everything except the order of concurrent
 * calls.
 */
import { describe, expect, test } from 'vitest';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { simulate } from './simulation.ts';
import { sqliteBackend } from './sqlite-backend.ts';
import { simulateWorlds } from './worlds.ts';

/** Concurrent worlds: each mostly waits for its queue. */
const CONCURRENCY = 4;
/** Maximum number of worlds until a planted bug of the queue is found. */
const SEEDS_TO_FIND = 20;

describe('The delivery engine on an SQLite queue', () => {
  const seeds = quickOrNightly(12, 120);

  test(`keeps every invariant in worlds 1 to ${seeds} with crashes and restarts`, {
    timeout: 600_000,
  }, async () => {
    let copies = 0;
    const onCopy = (): void => {
      copies += 1;
    };
    const result = await simulateWorlds(seeds, sqliteBackend({ onCopy }), CONCURRENCY);
    expect(result.failures).toEqual([]);
    expect(result.crashes).toBeGreaterThan(seeds / 4);
    expect(copies).toBeGreaterThan(0);
  });

  test('breaks an invariant when a crash loses the last write', async () => {
    const makeBackend = sqliteBackend({ losesLastWrite: true });
    let found: string | undefined;
    for (let seed = 1; seed <= SEEDS_TO_FIND && found === undefined; seed += 1) {
      found = (await simulate(seed, { makeBackend })).violation?.invariant;
    }
    expect(found).toBeDefined();
  });
});
