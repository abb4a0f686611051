/**
 * When a message that failed is sent again. Pure: the same for the direct sender, whose schedule is
 * over in seconds, and for a queue's, which takes days (D71).
 */
import type { Random } from '../runtime/random.ts';

/** When to send again what failed. */
export interface RetrySchedule {
  /**
   * The wait after each failure, in ms: whole numbers, 0 (at once) to 2147483647. As many as there
   * are retries; none means exactly one attempt.
   */
  readonly delaysMs: readonly number[];
  /** Goes on with the last delay until the horizon, which it needs. Default false. */
  readonly repeatLast?: boolean;
  /** From acceptance, in ms: nothing is sent again after it. Default: no horizon. */
  readonly horizonMs?: number;
  /** A longer wait, in ms, is not waited: the message is given up at once. Default: no limit. */
  readonly maxWaitMs?: number;
}

/** One failure of a message. Both times are on one clock, in ms. */
export interface FailedAttempt {
  /** How many failures counted before this one; 0 for the first. */
  readonly step: number;
  /** See {@link Judgement}. */
  readonly maxAttempts: number | undefined;
  /** What the receiver asked for. */
  readonly retryAfterMs: number | undefined;
  readonly acceptedAt: number;
  readonly now: number;
}

export type GiveUpReason =
  /** the schedule is over, or the attempts that its status allows */
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
      /** The wait that was due, without jitter; `undefined` if there was none. */
      readonly waitMs: number | undefined;
    };

/** A wait becomes up to a quarter longer, never shorter: Retry-After is a floor (D71). */
const MAX_JITTER = 0.25;

/**
 * The next attempt after a failure: after max(schedule, Retry-After), lengthened by chance, which
 * never decides whether there is one: the jitter ends at `maxWaitMs` and at the horizon.
 */
export function nextAttempt(
  schedule: RetrySchedule,
  failed: FailedAttempt,
  random: Random,
): NextAttempt {
  const { step, maxAttempts, retryAfterMs = 0 } = failed;
  const delayMs = delayAfter(schedule, step);
  if (delayMs === undefined || step + 1 >= (maxAttempts ?? Number.POSITIVE_INFINITY)) {
    return { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined };
  }
  return nextTime(schedule, { ...failed, waitMs: Math.max(delayMs, retryAfterMs) }, random);
}

export interface Wait {
  /** The least wait, in ms. */
  readonly waitMs: number;
  readonly acceptedAt: number;
  readonly now: number;
}

/** The end of a wait that no step of the schedule gives: after a pause, or before a halved request. */
export function nextTime(schedule: RetrySchedule, wait: Wait, random: Random): NextAttempt {
  const { waitMs, acceptedAt, now } = wait;
  const maxWaitMs = schedule.maxWaitMs ?? Number.POSITIVE_INFINITY;
  const horizon = acceptedAt + (schedule.horizonMs ?? Number.POSITIVE_INFINITY);
  if (waitMs > maxWaitMs) return { kind: 'dead', reason: 'wait-too-long', waitMs };
  if (now + waitMs > horizon) return { kind: 'dead', reason: 'horizon-passed', waitMs };
  const jitteredMs = Math.min(jittered(waitMs, random), maxWaitMs);
  return { kind: 'retry', at: Math.min(now + jitteredMs, horizon) };
}

/** A wait made up to a quarter longer by chance, in whole ms, and never shorter. */
export function jittered(waitMs: number, random: Random): number {
  return Math.floor(waitMs * (1 + MAX_JITTER * random()));
}

function delayAfter({ delaysMs, repeatLast }: RetrySchedule, step: number): number | undefined {
  return delaysMs[step] ?? (repeatLast === true ? delaysMs.at(-1) : undefined);
}

const SECOND_MS = 1000;

/** D71: a receiver that asks for more is taken to ask for this. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * SECOND_MS;

const MONTHS = [
  'Jan',
  'Feb',
  'Mar',
  'Apr',
  'May',
  'Jun',
  'Jul',
  'Aug',
  'Sep',
  'Oct',
  'Nov',
  'Dec',
] as const;

const DELAY_SECONDS = /^\d+$/;
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const DATE = '(?<day>0[1-9]|[12]\\d|3[01])';
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)';

/** IMF-fixdate, then the two obsolete forms that a recipient must still take. */
const HTTP_DATES = [
  new RegExp(`^${DAY}, ${DATE} ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, ${DATE}-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} (?<day> [1-9]|[12]\\d|3[01]) ${TIME} (?<year>\\d{4})$`),
] as const;

/**
 * How long the receiver asks to wait, in milliseconds: 0 for a date that is past, at most 24 h.
 * `undefined` without a header and for what is neither whole seconds nor an HTTP date.
 *
 * `now` is in milliseconds since the epoch.
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

/** A leap second, and a 31st in a shorter month, roll over to what follows. */
function dateOf(fields: DateFields, now: number): number {
  const month = MONTHS.indexOf(fields['month'] as (typeof MONTHS)[number]);
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
