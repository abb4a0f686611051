/** When a failed message is sent again: by a schedule, jitter and the Retry-After header. */
import type { Random } from '../runtime/random.ts';

/** When to retry a failed message. */
export interface RetrySchedule {
  /**
   * Wait after each failure, in ms: whole numbers, 0 (at once) to 2147483647. One for each retry; an
   * empty list means one attempt.
   */
  readonly delaysMs: readonly number[];
  /** Repeats the last delay until the horizon, which must be set. Default false. */
  readonly repeatLast?: boolean;
  /** Maximum age of a message at a retry, in ms since it was accepted. Default: no limit. */
  readonly horizonMs?: number;
  /** Maximum wait in ms: a message that would have to wait longer is given up. Default: no limit. */
  readonly maxWaitMs?: number;
}

/** One failure of a message. Times are in ms, on one clock. */
export interface FailedAttempt {
  /** Failures that counted before this one; 0 for the first. */
  readonly step: number;
  /** From the receiver's Retry-After. */
  readonly retryAfterMs: number | undefined;
  readonly acceptedAt: number;
  readonly now: number;
}

export type GiveUpReason =
  /** no retries left in the schedule, or in what the status allows */
  | 'attempts-exhausted'
  /** the next attempt would be after `horizonMs` */
  | 'horizon-passed'
  /** the next wait would be longer than `maxWaitMs` */
  | 'wait-too-long';

export type NextAttempt =
  | { readonly kind: 'retry'; readonly at: number }
  | {
      readonly kind: 'dead';
      readonly reason: GiveUpReason;
      /** The wait that would have been due, without jitter; `undefined` if there was none. */
      readonly waitMs: number | undefined;
    };

/** Jitter makes a wait up to a quarter longer, never shorter: Retry-After is a minimum. */
const MAX_JITTER = 0.25;

/**
 * Returns the next attempt after a failure: after max(schedule, Retry-After) plus jitter. Jitter is
 * capped at `maxWaitMs` and the horizon, so it never decides whether there is another attempt.
 */
export function nextAttempt(
  schedule: RetrySchedule,
  failed: FailedAttempt,
  random: Random,
): NextAttempt {
  const { step, retryAfterMs = 0 } = failed;
  const delayMs = delayAfter(schedule, step);
  if (delayMs === undefined) {
    return { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined };
  }
  return nextTime(schedule, { ...failed, waitMs: Math.max(delayMs, retryAfterMs) }, random);
}

export interface Wait {
  /** Minimum wait, in ms. */
  readonly waitMs: number;
  readonly acceptedAt: number;
  readonly now: number;
}

/** Returns when a wait ends, with jitter; or that it exceeds `maxWaitMs` or the horizon. */
export function nextTime(schedule: RetrySchedule, wait: Wait, random: Random): NextAttempt {
  const { waitMs, acceptedAt, now } = wait;
  const maxWaitMs = schedule.maxWaitMs ?? Number.POSITIVE_INFINITY;
  const horizon = acceptedAt + (schedule.horizonMs ?? Number.POSITIVE_INFINITY);
  if (waitMs > maxWaitMs) return { kind: 'dead', reason: 'wait-too-long', waitMs };
  if (now + waitMs > horizon) return { kind: 'dead', reason: 'horizon-passed', waitMs };
  const jitteredMs = Math.min(jittered(waitMs, random), maxWaitMs);
  return { kind: 'retry', at: Math.min(now + jitteredMs, horizon) };
}

/** Returns a wait with jitter, in whole ms. */
export function jittered(waitMs: number, random: Random): number {
  return Math.floor(waitMs * (1 + MAX_JITTER * random()));
}

function delayAfter({ delaysMs, repeatLast }: RetrySchedule, step: number): number | undefined {
  return delaysMs[step] ?? (repeatLast === true ? delaysMs.at(-1) : undefined);
}

const SECOND_MS = 1000;

/** A longer Retry-After counts as this. */
const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * SECOND_MS;

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

const DELAY_SECONDS = /^\d+$/;
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const DATE = '(?<day>0[1-9]|[12]\\d|3[01])';
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)';

/** IMF-fixdate, then the two obsolete forms that a recipient must still accept. */
const HTTP_DATES = [
  new RegExp(`^${DAY}, ${DATE} ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, ${DATE}-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} (?<day> [1-9]|[12]\\d|3[01]) ${TIME} (?<year>\\d{4})$`),
] as const;

/**
 * Returns how long the receiver asks to wait, in ms: 0 for a past date, at most 24 h. `undefined` if
 * the header is missing, or neither whole seconds nor an HTTP date. `now` is in ms since the epoch.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const waitMs = DELAY_SECONDS.test(text) ? Number(text) * SECOND_MS : waitUntil(text, now);
  return waitMs === undefined ? undefined : Math.min(Math.max(0, waitMs), MAX_RETRY_AFTER_MS);
}

function waitUntil(text: string, now: number): number | undefined {
  for (const form of HTTP_DATES) {
    const fields = form.exec(text)?.groups;
    if (fields !== undefined) return dateOf(fields, now) - now;
  }
  return undefined;
}

type DateFields = Readonly<Record<string, string>>;

/** A leap second, and a 31st in a shorter month, roll over. */
function dateOf(fields: DateFields, now: number): number {
  const month = MONTHS.indexOf(fields['month'] ?? '');
  const [day = 0, hour = 0, minute = 0, second = 0] = ['day', 'hour', 'minute', 'second'].map(
    (name) => Number(fields[name]),
  );
  return Date.UTC(yearOf(fields['year'] ?? '', now), month, day, hour, minute, second);
}

/** Two digits mean the one such year that is at most 50 years ahead (section 5.6.7). */
function yearOf(digits: string, now: number): number {
  const year = Number(digits);
  if (digits.length === 4) return year;
  const latest = new Date(now).getUTCFullYear() + 50;
  return latest - ((latest - year) % 100);
}
