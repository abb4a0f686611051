/** The worlds and invariants of the simulation, on a PostgreSQL queue. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresPrograms } from '../helpers/postgres-server.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { FLAWS } from './flaws.ts';
import { SimulatedDatabase } from './in-a-database.ts';
import { failuresOf, findFlaw, runWorlds } from './run-worlds.ts';

const MINUTES = 60_000;

const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

describe.runIf(postgresPrograms !== undefined)('The delivery engine on a PostgreSQL queue', () => {
  const seeds = quickOrNightly(4, 40);
  let database: SimulatedDatabase;

  beforeAll(async () => {
    database = await SimulatedDatabase.start();
  });
  afterAll(async () => {
    await database.stop();
  });

  test(`keeps every invariant in worlds 1 to ${seeds}, over crashes and restarts`, {
    timeout: 10 * MINUTES,
  }, async () => {
    const outcomes = await runWorlds(database.makeBacking(), { seeds, atATime: 1 });
    expect(failuresOf(outcomes, 'postgres')).toEqual([]);
    expect(outcomes.reduce((sum, { crashes }) => sum + crashes, 0)).toBeGreaterThan(seeds / 4);
  });

  test.each(Object.entries(FLAWS))('lets the simulation find that it %s', async (_, makeSpoil) => {
    expect(await findFlaw(() => database.makeBacking(makeSpoil()))).toBeDefined();
  });
});
