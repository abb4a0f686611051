/** Runs simulated worlds on a PostgreSQL queue. */
import { expect, onTestFinished, test } from 'vitest';
import { postgresPrograms } from '../helpers/postgres-server.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { SimulatedDatabase } from './postgres-backend.ts';
import { simulateWorlds } from './worlds.ts';

const SEEDS = quickOrNightly(4, 40);

test.runIf(postgresPrograms !== undefined)(
  `The delivery engine on a PostgreSQL queue keeps every invariant in worlds 1 to ${SEEDS}`,
  { timeout: 600_000 },
  async () => {
    const database = await SimulatedDatabase.start();
    onTestFinished(() => database.stop());
    const { failures, crashes } = await simulateWorlds(SEEDS, database.makeBackend);
    expect(failures).toEqual([]);
    expect(crashes).toBeGreaterThan(SEEDS / 4);
  },
);
