/** Option values read from text, and numbers written for people. */
import { usageError } from './errors.ts';

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads the duration of `--name`, such as `250ms`, `2s`, `1.5m`, `12h`, `3d` or `0`. Returns milliseconds. */
export function durationOf(name: string, text: string): number {
  if (text === '0') return 0;
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  if (digits === undefined || unit === undefined) {
    throw usageError(`--${name} needs a duration with a unit, such as 250ms, 2s, 5m, 12h or 3d`);
  }
  return Math.round(Number(digits) * UNITS_MS[unit as keyof typeof UNITS_MS]);
}

/** Longest duration, in whole days, that a timer of Node can wait. */
export const MAX_DURATION_MS = 24 * UNITS_MS.d;

/** Returns the sender option `deadlineMs`, given by `--deadline`. */
export function deadlineOf(text: string | undefined): { readonly deadlineMs?: number } {
  if (text === undefined) return {};
  const deadlineMs = durationOf('deadline', text);
  if (deadlineMs >= 1 && deadlineMs <= MAX_DURATION_MS) return { deadlineMs };
  throw usageError('--deadline must be from 1ms to 24d');
}

/** Reads a whole number. `name` is printed as given, such as `--port`. */
export function integerOf(
  name: string,
  text: string,
  [min, max]: readonly [number, number],
): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageError(`${name} must be a whole number from ${min} to ${max}`);
}

export function oneOf<const C extends string>(
  name: string,
  text: string,
  choices: readonly C[],
): C {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw usageError(`--${name} must be one of: ${choices.join(', ')}`);
}

export const formatOf = (text = '2'): 1 | 2 => (oneOf('format', text, ['2', '1']) === '1' ? 1 : 2);

export const dialectOf = (text = 'strict'): 'strict' | 'open' =>
  oneOf('dialect', text, ['strict', 'open']);

export const networkOf = (text: string): 'public' | 'allow-private' =>
  oneOf('network', text, ['public', 'allow-private']);

/** `2,000` */
export const wholeNumber = (count: number): string => count.toLocaleString('en');

/** `1 message`, `2,000 messages`, `2 bodies` */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${wholeNumber(count)} ${count === 1 ? noun : plural}`;

const UNITS: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
];

/** `12 ms`, `1.5 s`, `3 min`, `2 h` */
export function durationText(ms: number): string {
  const [unitMs, unit] = UNITS.find(([size]) => ms >= size) ?? [1, 'ms'];
  const value = ms / unitMs;
  return `${value < 10 && unitMs > 1 ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
}
