/** D0: an unknown key in every object of every sample. */
import { namesOf, SAMPLES, type SampleName } from '../samples.ts';
import { byReading, type Change, everywhere } from './case.ts';
import type { Decision } from './decision.ts';

const KEY = 'nobody_knows';

/** Free-form JSON, and Datadog's own object: any key is at home there. */
const FREE = /(?:^|\.)(?:identifiers|user_identifiers|options|dd|form|json|other|query)(?:\.|$)/;

function objectPaths(value: unknown, path: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value).flatMap(([key, child]) => objectPaths(child, [...path, key]));
  return Array.isArray(value) ? below : [path.join('.'), ...below];
}

const change = (on: SampleName, path: string): Change => ({
  on,
  set: { [path === '' ? KEY : `${path}.${KEY}`]: 'x' },
  verdicts: FREE.test(path)
    ? everywhere(true)
    : byReading([{ at: path, says: `unknown key "${KEY}"` }], true),
});

export const UNKNOWN_KEYS: readonly Decision[] = namesOf(SAMPLES).map((name) => ({
  title: `D0 refuses an unknown key in any object of ${name} when emitted, keeps it when received`,
  cases: objectPaths(SAMPLES[name]).map((path) => change(name, path)),
}));
