/**
 * The same worlds and the same invariants, with queues that are not modelled: files of a folder, and a
 * PostgreSQL server. A seed decides on everything but the order in which calls that are under way at
 * the same moment are answered.
 */
import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresPrograms } from '../helpers/postgres-server.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import type { MakeBacking } from './backing.ts';
import { FLAWS } from './flaws.ts';
import { SimulatedDatabase } from './in-a-database.ts';
import { inFolder } from './in-a-folder.ts';
import { type Outcome, simulate } from './simulation.ts';

/** Of real time a world mostly waits for its store. */
const AT_A_TIME = 4;
const MINUTES = 60_000;

const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

async function run(
  makeBacking: MakeBacking,
  { seeds, atATime }: { readonly seeds: number; readonly atATime: number },
): Promise<Outcome[]> {
  const waiting = Array.from({ length: seeds }, (_, index) => index + 1);
  const outcomes: Outcome[] = [];
  const work = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      outcomes.push(await simulate(seed, { makeBacking }));
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return outcomes;
}

const failuresOf = (outcomes: readonly Outcome[], queue: string): string[] =>
  outcomes.flatMap(({ seed, violation }) =>
    violation === undefined
      ? []
      : [
          `${violation.invariant}: ${violation.detail}; again: npm run simulate -- --queue ${queue} --seed ${seed}`,
        ],
  );

/** The first seed by which it is found, and by which invariant. */
async function find(makeBacking: () => MakeBacking): Promise<string | undefined> {
  for (let seed = 1; seed <= SEEDS_TO_FIND; seed += 1) {
    const { violation } = await simulate(seed, { makeBacking: makeBacking() });
    if (violation !== undefined) return violation.invariant;
  }
  return undefined;
}

const SEEDS_TO_FIND = 20;

/** The last record that LevelDB wrote to its log is cut, and what was written with it. */
function cutTail(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const { size } = statSync(path);
    if (name.endsWith('.log') && size > 0) truncateSync(path, size - 1);
  }
}

describe('The delivery engine on a queue in a folder', () => {
  const seeds = quickOrNightly(12, 120);

  test(`keeps every invariant in worlds 1 to ${seeds}, over crashes and restarts`, {
    timeout: 10 * MINUTES,
  }, async () => {
    const outcomes = await run(inFolder(), { seeds, atATime: AT_A_TIME });
    expect(failuresOf(outcomes, 'level')).toEqual([]);
    expect(outcomes.reduce((sum, { crashes }) => sum + crashes, 0)).toBeGreaterThan(seeds / 4);
  });

  test.each(Object.entries(FLAWS))('that %s is found out', async (_, makeSpoil) => {
    expect(await find(() => inFolder({ spoil: makeSpoil() }))).toBeDefined();
  });

  test('that loses its last write in a crash is found out', async () => {
    expect(await find(() => inFolder({ spoilFolder: cutTail }))).toBeDefined();
  });
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
    const outcomes = await run(database.makeBacking(), { seeds, atATime: 1 });
    expect(failuresOf(outcomes, 'postgres')).toEqual([]);
    expect(outcomes.reduce((sum, { crashes }) => sum + crashes, 0)).toBeGreaterThan(seeds / 4);
  });

  test.each(Object.entries(FLAWS))('that %s is found out', async (_, makeSpoil) => {
    expect(await find(() => database.makeBacking(makeSpoil()))).toBeDefined();
  });
});
