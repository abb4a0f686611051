/**
 * `npm run bench -- [--only <row>]… [--goals] [--runs <n>] [--part <n>] [--json] [--keep]`: measures and prints one table.
 *
 * Progress goes to standard error, so that standard output can be stored. `--goals` selects the rows with a goal.
 * `--part 10` does a tenth of the work of each sample, which shows the effect of a change but is never stored. `--keep`
 * stores each row in bench/results.json as soon as it is measured, in place of the previous one.
 */
import { parseArgs } from 'node:util';
import type { Comparison } from './comparison.ts';
import { selectComparisons, USUAL_RUNS } from './comparisons.ts';
import { type Result, resultOf } from './results.ts';
import { takeSamples } from './sampling.ts';
import { readStoredResults, storeRun } from './stored-results.ts';
import { describeSurroundings, renderSurroundings, type Surroundings } from './surroundings.ts';
import { LEGEND, renderTable } from './table.ts';

const WARM_UPS = 1;

interface Arguments {
  readonly comparisons: readonly Comparison[];
  readonly runs: number | undefined;
  readonly json: boolean;
  readonly isKept: boolean;
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      runs: { type: 'string' },
      part: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      goals: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  const { only, runs, part, json, goals } = values;
  for (const [name, value] of Object.entries({ runs, part })) {
    if (value === undefined || /^[1-9]\d*$/.test(value)) continue;
    throw new Error(`--${name} takes a positive integer, not ${value}`);
  }
  if (values.keep && part !== '1') throw new Error('--keep and --part exclude each other');
  return {
    comparisons: selectComparisons(only)
      .filter(({ goal }) => !goals || goal !== undefined)
      .map((row) => ({ ...row, operations: Math.ceil(row.operations / Number(part)) })),
    runs: runs === undefined ? undefined : Number(runs),
    json,
    isKept: values.keep,
  };
}

async function measure(comparison: Comparison, requestedRuns: number | undefined): Promise<Result> {
  const runs = requestedRuns ?? comparison.runs ?? USUAL_RUNS;
  process.stderr.write(`${comparison.name}: ${runs} runs of each side\n`);
  return resultOf(comparison, await takeSamples(comparison, { warmUps: WARM_UPS, runs }));
}

/** Starts a PostgreSQL server if needed. Subjects read its address from the environment. */
async function withServer<T>(isNeeded: boolean, work: () => Promise<T>): Promise<T> {
  if (!isNeeded) return await work();
  const { PostgresServer } = await import('../test/helpers/postgres-server.ts');
  const server = await PostgresServer.start({});
  const [row] = await server.query('show server_version');
  process.stderr.write(`PostgreSQL ${String(row?.['server_version'])}, default settings\n`);
  process.env['BENCH_POSTGRES'] = JSON.stringify(server.connection);
  try {
    return await work();
  } finally {
    await server.stop();
  }
}

/** Measures all rows. Prints the error of a row that fails and continues. */
async function measureAll(
  { comparisons, runs, isKept }: Arguments,
  surroundings: Surroundings,
): Promise<Result[]> {
  const before = isKept ? readStoredResults() : [];
  const results: Result[] = [];
  for (const comparison of comparisons) {
    try {
      results.push(await measure(comparison, runs));
    } catch (error) {
      printError(error);
      continue;
    }
    if (isKept) storeRun(before, { surroundings, results });
  }
  return results;
}

function printError(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

try {
  const options = readArguments();
  const surroundings = describeSurroundings(new Date());
  const isNeeded = options.comparisons.some(({ needsServer }) => needsServer === true);
  const results = await withServer(isNeeded, () => measureAll(options, surroundings));
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ surroundings, results }, null, 2)}\n`
      : `${renderSurroundings(surroundings)}\n${renderTable(results)}\n${LEGEND}\n`,
  );
} catch (error) {
  printError(error);
}
