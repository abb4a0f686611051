/**
 * `npm run simulate -- …`: `--seeds 1000 --from 1` runs many worlds, `--seed 4711` tells one of them
 * step by step, `--planted` runs the planted bugs, `--table` shows what the worlds have met,
 * `--only slots` checks nothing but that invariant, and `--queue sqlite` or `--queue postgres` takes a
 * real queue.
 */
import { parseArgs } from 'node:util';
import { inMemory, type MakeBacking } from './backing.ts';
import { Coverage } from './coverage.ts';
import { INVARIANTS, type InvariantName } from './invariants.ts';
import { runPlanted } from './planted.ts';
import { missingPairs, SEEDS_THAT_MEET_ALL } from './required-pairs.ts';
import { type Outcome, simulate } from './simulation.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    /** Ends at the first seed that fails. */
    first: { type: 'boolean', default: false },
    table: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    only: { type: 'string' },
    queue: { type: 'string', default: 'memory' },
  },
});

const only = invariant(values.only);

interface Place {
  readonly makeBacking: MakeBacking;
  readonly leave: () => Promise<void>;
}

const staying = { leave: () => Promise.resolve() };

/** Where the queue of all the worlds is; what a place needs is loaded for it alone. */
const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  memory: () => Promise.resolve({ ...staying, makeBacking: inMemory }),
  sqlite: async () => {
    const { inFile } = await import('./in-a-file.ts');
    return { ...staying, makeBacking: inFile() };
  },
  postgres: async () => {
    const { SimulatedDatabase } = await import('./in-a-database.ts');
    const database = await SimulatedDatabase.start();
    return { makeBacking: database.makeBacking(), leave: () => database.stop() };
  },
};

function enter(): Promise<Place> {
  const { queue } = values;
  const place = Object.hasOwn(PLACES, queue) ? PLACES[queue] : undefined;
  if (place === undefined)
    throw new Error(`no queue ${queue}, but ${Object.keys(PLACES).join(', ')}`);
  return place();
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** What a failing seed is told by, and how it is run again. */
const LAST_EVENTS = 25;

async function tell(seed: number, lines: number, { makeBacking }: Place): Promise<Outcome> {
  const trace: string[] = [];
  const outcome = await simulate(seed, { trace, only, makeBacking });
  say(trace.slice(-lines).join('\n'));
  return outcome;
}

async function runSeeds(from: number, seeds: number, place: Place): Promise<boolean> {
  const startedAt = process.cpuUsage();
  const coverage = new Coverage();
  const sum = { seeds: 0, failed: 0, attempts: 0, messages: 0, steps: 0, virtualMs: 0 };
  for (let seed = from; seed < from + seeds; seed += 1) {
    const { makeBacking } = place;
    const outcome = await simulate(seed, { only, makeBacking });
    const { violation, attempts, messages, steps, virtualMs } = outcome;
    coverage.add(outcome.coverage);
    sum.seeds += 1;
    sum.attempts += attempts;
    sum.messages += messages;
    sum.steps += steps;
    sum.virtualMs += virtualMs;
    if (violation === undefined) continue;
    sum.failed += 1;
    say(`FAILED seed ${seed}: ${violation.invariant}: ${violation.detail}`);
    if (values.first) return false;
    await tell(seed, LAST_EVENTS, place);
    say(`again: npm run simulate -- --queue ${values.queue} --seed ${seed}\n`);
  }
  if (values.table) say(coverage.table().join('\n'));
  const { user, system } = process.cpuUsage(startedAt);
  const days = (sum.virtualMs / 86_400_000).toFixed(1);
  say(
    `${sum.seeds} seeds, ${sum.failed} failed: ${sum.messages} messages, ${sum.attempts} attempts, ` +
      `${sum.steps} steps, ${days} days; ${((user + system) / 1000 / sum.seeds).toFixed(0)} ms of CPU a seed`,
  );
  const meetsAll = values.queue === 'memory' && seeds >= SEEDS_THAT_MEET_ALL;
  const missing = meetsAll ? missingPairs(coverage) : [];
  for (const pair of missing) say(`never met: ${pair}`);
  return sum.failed === 0 && missing.length === 0;
}

/** No seeds at all would be no failure. */
function count(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`expected a whole number above 0, not ${text}`);
}

function invariant(name: string | undefined): InvariantName | undefined {
  if (name === undefined || Object.hasOwn(INVARIANTS, name)) return name as InvariantName;
  throw new Error(`no invariant ${name}, but ${Object.keys(INVARIANTS).join(', ')}`);
}

/** Each wake of the engine makes an error, whose stack costs more than the wake. */
Error.stackTraceLimit = 0;

async function main(): Promise<boolean> {
  if (values.planted) return await runPlanted(say);
  const place = await enter();
  try {
    return await runWorlds(place);
  } finally {
    await place.leave();
  }
}

async function runWorlds(place: Place): Promise<boolean> {
  if (values.seed === undefined) {
    return await runSeeds(count(values.from), count(values.seeds), place);
  }
  const outcome = await tell(count(values.seed), Number.POSITIVE_INFINITY, place);
  say(
    outcome.violation === undefined ? 'nothing is wrong' : `FAILED: ${outcome.violation.invariant}`,
  );
  return outcome.violation === undefined;
}

process.exitCode = (await main()) ? 0 : 1;
