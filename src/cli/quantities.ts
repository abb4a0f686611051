/** Numbers for people. */

/** `2,000`. */
export const wholeNumber = (count: number): string => count.toLocaleString('en');

/** `1 message`, `2,000 messages`. */
export const counted = (count: number, noun: string): string =>
  `${wholeNumber(count)} ${noun}${count === 1 ? '' : 's'}`;

const UNITS: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
];

/** `12 ms`, `1.5 s`, `3 min`, `2 h`: as much of it as somebody wants to know. */
export function durationText(ms: number): string {
  const row = UNITS.find(([unitMs]) => ms >= unitMs);
  if (row === undefined) return `${Math.round(ms)} ms`;
  const [unitMs, unit] = row;
  const value = ms / unitMs;
  return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
}
