/**
 * Whether rows are still about what was recorded: only ratios are compared, and only of processor time,
 * which says the same on a fast machine and a slow one, idle or busy.
 */
import type { Comparison } from './comparison.ts';
import type { KeptRun } from './kept.ts';
import type { Result } from './results.ts';

/** Few samples scatter by a third; what made something twice as slow is beyond this. */
export const MARGIN = 1.8;

/** Quick rows, each of another part. */
export const CHECKED_ROWS = ['write-pino', 'file-pino', 'check', 'accept', 'encode-sign'];

/** Times the work is done less often than for the record. */
export const SMALLER = 2;

const RUNS = 3;

export type Measure = (comparison: Comparison, runs: number) => Promise<Result>;

interface Verdict {
  readonly name: string;
  readonly isFarOutside: boolean;
  readonly words: string;
}

function verdictOn({ name, cpuRatio }: Result, recorded: number): Verdict {
  const times = cpuRatio / recorded;
  const words = `${name}: ${cpuRatio.toFixed(2)} times the rival's CPU, recorded ${recorded.toFixed(2)}`;
  return { name, isFarOutside: times > MARGIN, words };
}

/** What is far outside is measured once more: a machine may have had something else to do. */
export async function checkRow(
  comparison: Comparison,
  kept: readonly KeptRun[],
  measure: Measure,
): Promise<Verdict> {
  const { name, operations } = comparison;
  const recorded = kept.flatMap(({ results }) => results).find((row) => row.name === name);
  if (recorded === undefined) throw new Error(`${name} was never recorded: npm run bench:docs`);
  const smaller = { ...comparison, operations: Math.ceil(operations / SMALLER) };
  const first = verdictOn(await measure(smaller, RUNS), recorded.cpuRatio);
  if (!first.isFarOutside) return first;
  return verdictOn(await measure(smaller, RUNS), recorded.cpuRatio);
}
