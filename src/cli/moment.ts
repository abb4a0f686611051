/** Moments as options. */
import { misuse } from './failure.ts';

/** A day of UTC, or a time with its zone: one without would be another moment on another machine. */
const MOMENT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** In milliseconds since the epoch. */
export function momentOf(name: string, text: string): number {
  const ms = MOMENT.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw misuse(
    `--${name} must be a day or a time with its zone, such as 2026-11-22 or 2026-11-22T08:00:00Z`,
  );
}

/** `Date.parse` takes the 31st of February for a day of March. */
function isDay(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}
