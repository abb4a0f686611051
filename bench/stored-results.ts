/** Reads and writes the stored results, which bench/results.md shows. */
import { readFileSync, writeFileSync } from 'node:fs';
import { selectComparisons } from './comparisons.ts';
import type { Result } from './results.ts';
import type { Surroundings } from './surroundings.ts';

const FILE = new URL('./results.json', import.meta.url);

/** Rows that were measured together: on one machine, with one state of the sources. */
export interface StoredRun {
  readonly surroundings: Surroundings;
  readonly results: readonly Result[];
}

/** Reads the stored results and adds the current goals. */
export function readStoredResults(): StoredRun[] {
  const goals = new Map(selectComparisons([]).map(({ name, goal }) => [name, goal]));
  const stored = JSON.parse(readFileSync(FILE, 'utf8')) as StoredRun[];
  return stored.map(({ surroundings, results }) => ({
    surroundings,
    results: results.map((result) => {
      const goal = goals.get(result.name);
      return goal === undefined ? result : { ...result, goal };
    }),
  }));
}

/** Adds a run. A row that was measured again moves to it. Runs without rows are removed. */
export function withRun(stored: readonly StoredRun[], run: StoredRun): StoredRun[] {
  const names = new Set(run.results.map(({ name }) => name));
  const older = stored.map(({ surroundings, results }) => ({
    surroundings,
    results: results.filter(({ name }) => !names.has(name)),
  }));
  return [...older, run].filter(({ results }) => results.length > 0);
}

/** Removes goals and insignificant digits. */
function toStored(key: string, value: unknown): unknown {
  if (key === 'goal') return undefined;
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value;
}

const textOf = (stored: readonly StoredRun[]): string => `${JSON.stringify(stored, toStored, 1)}\n`;

/** Stores a run. `before` are the stored results from before the run. */
export const storeRun = (before: readonly StoredRun[], run: StoredRun): void =>
  writeFileSync(FILE, textOf(withRun(before, run)));
