/** The results that the repository keeps; bench/results.md shows them. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Result } from './results.ts';
import type { Surroundings } from './surroundings.ts';

const FILE = new URL('./results.json', import.meta.url);

/** What was measured together: one machine, one state of the sources. */
export interface KeptRun {
  readonly surroundings: Surroundings;
  readonly results: readonly Result[];
}

export const readKept = (): KeptRun[] => JSON.parse(readFileSync(FILE, 'utf8')) as KeptRun[];

/** A row that is measured again is of the new run alone; a run without rows is forgotten. */
export function withRun(kept: readonly KeptRun[], run: KeptRun): KeptRun[] {
  const names = new Set(run.results.map(({ name }) => name));
  const older = kept.map(({ surroundings, results }) => ({
    surroundings,
    results: results.filter(({ name }) => !names.has(name)),
  }));
  return [...older, run].filter(({ results }) => results.length > 0);
}

/** Of more digits nothing could be told. */
const digits = (_key: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(5)) : value;

const textOf = (kept: readonly KeptRun[]): string => `${JSON.stringify(kept, digits, 1)}\n`;

/** `before` is what was kept when the run began. */
export const keep = (before: readonly KeptRun[], run: KeptRun): void =>
  writeFileSync(FILE, textOf(withRun(before, run)));
