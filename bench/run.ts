/**
 * `npm run bench -- [--only <row>]… [--goals] [--runs <n>] [--part <n>] [--json] [--keep]`: measures and prints one table.
 *
 * Progress goes to standard error, so that standard output can be kept. `--goals` takes the rows that have
 * one. `--part 10` does a tenth of the work of each sample, which is enough to find out what a change does, and is
 * never kept. `--keep` puts each row into bench/results.json as soon as it is measured, in the place of the one before.
 */
import { parseArgs } from 'node:util';
import type { Comparison } from './comparison.ts';
import { selectComparisons, USUAL_RUNS } from './comparisons.ts';
import { keep, readKept } from './kept.ts';
import { type Result, resultOf } from './results.ts';
import { takeSamples } from './sampling.ts';
import { describeSurroundings, renderSurroundings, type Surroundings } from './surroundings.ts';
import { LEGEND, renderTable } from './table.ts';

const WARM_UPS = 1;

interface Wanted {
  readonly comparisons: readonly Comparison[];
  readonly runs: number | undefined;
  readonly json: boolean;
  readonly isKept: boolean;
}

function readArguments(): Wanted {
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
  if (values.keep && part !== '1') throw new Error('--keep takes whole samples, no --part of them');
  return {
    comparisons: selectComparisons(only)
      .filter(({ goal }) => !goals || goal !== undefined)
      .map((row) => ({ ...row, operations: Math.ceil(row.operations / Number(part)) })),
    runs: runs === undefined ? undefined : Number(runs),
    json,
    isKept: values.keep,
  };
}

async function measure(comparison: Comparison, givenRuns: number | undefined): Promise<Result> {
  const runs = givenRuns ?? comparison.runs ?? USUAL_RUNS;
  process.stderr.write(`${comparison.name}: ${runs} runs of each side\n`);
  return resultOf(comparison, await takeSamples(comparison, { warmUps: WARM_UPS, runs }));
}

/** For those rows that need one: what they measure finds it in the environment. */
async function withServer<T>(isNeeded: boolean, work: () => Promise<T>): Promise<T> {
  if (!isNeeded) return await work();
  const { PostgresServer } = await import('../test/helpers/postgres-server.ts');
  const server = await PostgresServer.start({});
  const [row] = await server.query('show server_version');
  process.stderr.write(`PostgreSQL ${String(row?.['server_version'])}, as it comes\n`);
  process.env['BENCH_POSTGRES'] = JSON.stringify(server.connection);
  try {
    return await work();
  } finally {
    await server.stop();
  }
}

/** A row that cannot be measured is told, and the others are measured all the same. */
async function measureAll(
  { comparisons, runs, isKept }: Wanted,
  surroundings: Surroundings,
): Promise<Result[]> {
  const before = isKept ? readKept() : [];
  const results: Result[] = [];
  for (const comparison of comparisons) {
    try {
      results.push(await measure(comparison, runs));
    } catch (error) {
      tell(error);
      continue;
    }
    if (isKept) keep(before, { surroundings, results });
  }
  return results;
}

function tell(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

try {
  const wanted = readArguments();
  const surroundings = describeSurroundings(new Date());
  const isNeeded = wanted.comparisons.some(({ needsServer }) => needsServer === true);
  const results = await withServer(isNeeded, () => measureAll(wanted, surroundings));
  process.stdout.write(
    wanted.json
      ? `${JSON.stringify({ surroundings, results }, null, 2)}\n`
      : `${renderSurroundings(surroundings)}\n${renderTable(results)}\n${LEGEND}\n`,
  );
} catch (error) {
  tell(error);
}
