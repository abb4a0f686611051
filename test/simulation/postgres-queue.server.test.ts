/** Runs simulated worlds on a PostgreSQL queue. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresPrograms } from '../helpers/postgres-server.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { SimulatedDatabase } from './postgres-backend.ts';
import { simulate } from './simulation.ts';

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
  afterAll(() => database.stop());

  test(`keeps every invariant in worlds 1 to ${seeds} with crashes and restarts`, {
    timeout: 600_000,
  }, async () => {
    let crashCount = 0;
    for (let seed = 1; seed <= seeds; seed += 1) {
      const { violation, crashes } = await simulate(seed, database);
      const command = `npm run simulate -- --queue postgres --seed ${seed}`;
      expect(violation, `to repeat it: ${command}`).toBeUndefined();
      crashCount += crashes;
    }
    expect(crashCount).toBeGreaterThan(seeds / 4);
  });
});
