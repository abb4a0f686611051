/**
 * Checks rows against their recorded results. Compares only ratios of processor time, which hardly depend on
 * the machine and its load.
 */
import type { Comparison } from './comparison.ts';
import type { Result } from './results.ts';
import type { StoredRun } from './stored-results.ts';

/** A few samples scatter by a third. A change that doubles the time exceeds this. */
export const MARGIN = 1.8;

/** Quick rows, one for each part of the library. */
export const CHECKED_ROWS = ['write-pino', 'file-pino', 'check', 'accept', 'encode-sign'];

/** Factor by which the work is smaller than for the stored results. */
export const SMALLER = 2;

const RUNS = 3;

export type Measure = (comparison: Comparison, runs: number) => Promise<Result>;

interface Verdict {
  readonly name: string;
  readonly hasRegressed: boolean;
  readonly text: string;
}

function verdictOn({ name, cpuRatio }: Result, recorded: number): Verdict {
  const times = cpuRatio / recorded;
  const text = `${name}: ${cpuRatio.toFixed(2)} times the rival's CPU, recorded ${recorded.toFixed(2)}`;
  return { name, hasRegressed: times > MARGIN, text };
}

/** Measures a regressed row again, because the machine may have been busy. */
export async function checkRow(
  comparison: Comparison,
  kept: readonly StoredRun[],
  measure: Measure,
): Promise<Verdict> {
  const { name, operations } = comparison;
  const recorded = kept.flatMap(({ results }) => results).find((row) => row.name === name);
  if (recorded === undefined) throw new Error(`${name} was never recorded: npm run bench:docs`);
  const smaller = { ...comparison, operations: Math.ceil(operations / SMALLER) };
  const first = verdictOn(await measure(smaller, RUNS), recorded.cpuRatio);
  if (!first.hasRegressed) return first;
  return verdictOn(await measure(smaller, RUNS), recorded.cpuRatio);
}
