/** Values of options as text: read, or refused by the option's name. */
import { misuse } from './failure.ts';

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A time as people write it: `250ms`, `2s`, `1.5m`, `12h`, `3d`; a bare 0 too. In milliseconds. */
export function durationOf(name: string, text: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  if (text === '0') return 0;
  if (digits === undefined || unit === undefined) {
    throw misuse(`--${name} must be a time with its unit, such as 250ms, 2s, 5m, 12h or 3d`);
  }
  return Math.round(Number(digits) * UNITS_MS[unit as keyof typeof UNITS_MS]);
}

/** A whole number within bounds. */
export function integerOf(
  name: string,
  text: string,
  [min, max]: readonly [number, number],
): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw misuse(`--${name} must be a whole number from ${min} to ${max}`);
}

/** One of a few words. */
export function wordOf<const W extends string>(name: string, text: string, words: readonly W[]): W {
  const found = words.find((word) => word === text);
  if (found !== undefined) return found;
  throw misuse(`--${name} must be one of ${words.join(', ')}`);
}
