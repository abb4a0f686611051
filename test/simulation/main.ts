/** `npm run simulate -- …`: README.md explains the arguments. */
import { parseArgs } from 'node:util';
import { FAULTS } from './faults.ts';
import { INVARIANTS, type InvariantName } from './invariants.ts';
import { runPlantedBugs } from './planted-bugs.ts';
import { type MakeBackend, memoryBackend } from './queue-backend.ts';
import { QUEUE_FAULTS, SETTINGS_FAULTS } from './scenario.ts';
import { type Outcome, simulate } from './simulation.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    /** Stops at the first seed that fails. */
    first: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    only: { type: 'string' },
    queue: { type: 'string', default: 'memory' },
  },
});

const ALL_FAULTS = [...Object.keys(FAULTS), ...SETTINGS_FAULTS, ...QUEUE_FAULTS];

/** From this number of seeds on, every fault must occur: a fault that never occurs tests nothing. */
const SEEDS_WITH_ALL_FAULTS = 100;

const only = invariant(values.only);

interface OpenBackend {
  readonly makeBackend: MakeBackend;
  readonly stop?: () => Promise<void>;
}

/** Imports only the modules that this queue needs. */
async function openBackend(queue: string): Promise<OpenBackend> {
  if (queue === 'memory') return { makeBackend: memoryBackend };
  if (queue === 'sqlite')
    return { makeBackend: (await import('./sqlite-backend.ts')).sqliteBackend() };
  if (queue !== 'postgres') throw new Error(`--queue is memory, sqlite or postgres, not ${queue}`);
  const { SimulatedDatabase } = await import('./postgres-backend.ts');
  const database = await SimulatedDatabase.start();
  return { makeBackend: database.makeBackend, stop: () => database.stop() };
}

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Number of log lines that are printed for a failing seed. */
const LAST_EVENTS = 25;

async function runTraced(seed: number, lines: number, makeBackend: MakeBackend): Promise<Outcome> {
  const trace: string[] = [];
  const outcome = await simulate(seed, { trace, only, makeBackend });
  print(trace.slice(-lines).join('\n'));
  return outcome;
}

async function runSeeds(from: number, seeds: number, makeBackend: MakeBackend): Promise<boolean> {
  const startedAt = process.cpuUsage();
  const occurredFaults = new Set<string>();
  const sum = { seeds: 0, failed: 0, attempts: 0, messages: 0, steps: 0, virtualMs: 0 };
  for (let seed = from; seed < from + seeds; seed += 1) {
    const outcome = await simulate(seed, { only, makeBackend });
    const { violation, attempts, messages, steps, virtualMs } = outcome;
    for (const fault of outcome.occurredFaults) occurredFaults.add(fault);
    sum.seeds += 1;
    sum.attempts += attempts;
    sum.messages += messages;
    sum.steps += steps;
    sum.virtualMs += virtualMs;
    if (violation === undefined) continue;
    sum.failed += 1;
    print(`FAILED seed ${seed}: ${violation.invariant}: ${violation.detail}`);
    if (values.first) return false;
    await runTraced(seed, LAST_EVENTS, makeBackend);
    print(`to repeat it: npm run simulate -- --queue ${values.queue} --seed ${seed}\n`);
  }
  const { user, system } = process.cpuUsage(startedAt);
  const days = (sum.virtualMs / 86_400_000).toFixed(1);
  print(
    `${sum.seeds} seeds, ${sum.failed} failed: ${sum.messages} messages, ${sum.attempts} attempts, ` +
      `${sum.steps} steps, ${days} days; ${((user + system) / 1000 / sum.seeds).toFixed(0)} ms of CPU a seed`,
  );
  const isEnough = values.queue === 'memory' && seeds >= SEEDS_WITH_ALL_FAULTS;
  const missing = isEnough ? ALL_FAULTS.filter((fault) => !occurredFaults.has(fault)) : [];
  for (const fault of missing) print(`fault never occurred: ${fault}`);
  return sum.failed === 0 && missing.length === 0;
}

/** Throws unless the text is a positive integer: a run without seeds would always pass. */
function count(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`expected a whole number above 0, not ${text}`);
}

function invariant(name: string | undefined): InvariantName | undefined {
  if (name === undefined || Object.hasOwn(INVARIANTS, name)) return name as InvariantName;
  throw new Error(`no invariant ${name}, only ${Object.keys(INVARIANTS).join(', ')}`);
}

async function main(): Promise<boolean> {
  if (values.planted) return await runPlantedBugs(print);
  const { makeBackend, stop } = await openBackend(values.queue);
  try {
    return await runWorlds(makeBackend);
  } finally {
    await stop?.();
  }
}

async function runWorlds(makeBackend: MakeBackend): Promise<boolean> {
  if (values.seed === undefined) {
    return await runSeeds(count(values.from), count(values.seeds), makeBackend);
  }
  const outcome = await runTraced(count(values.seed), Number.POSITIVE_INFINITY, makeBackend);
  print(outcome.violation === undefined ? 'passed' : `FAILED: ${outcome.violation.invariant}`);
  return outcome.violation === undefined;
}

process.exitCode = (await main()) ? 0 : 1;
