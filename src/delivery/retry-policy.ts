/** Defaults and validation of the delivery policy and its retry schedule; `explainSchedule`. */
import {
  ANYTHING,
  check,
  integer,
  invalidOption,
  isInteger,
  listOf,
  MAX_TIMER_MS,
  type OptionValues,
  oneOf,
  type Rules,
  readOptions,
} from '../option-rules.ts';
import type { Random } from '../runtime/random.ts';
import {
  type GiveUpReason,
  type NextAttempt,
  nextAttempt,
  type RetrySchedule,
} from '../webhook/retry.ts';
import { POLICY_OPTIONS } from './options.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

export type CompleteSchedule = RetrySchedule & { readonly horizonMs: number };

/** How a sender delivers, retries and pauses. */
export interface DeliveryPolicy extends OptionValues<typeof POLICY_OPTIONS> {
  /** When a failed message is retried, and until when (D71). */
  readonly schedule: CompleteSchedule;
}

/** What every decision about a retry or a pause needs besides the attempt. */
export interface RetryContext {
  readonly policy: DeliveryPolicy;
  readonly random: Random;
}

const DEFAULT_DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
  12 * HOUR_MS,
] as const;

/** Shorter in memory: the messages are lost with the process, and should not look safe for days (D71). */
export const MEMORY_HORIZON_MS = HOUR_MS;
export const DURABLE_HORIZON_MS = 72 * HOUR_MS;

export const DEFAULT_POLICY: DeliveryPolicy = {
  ...readOptions({}, POLICY_OPTIONS),
  schedule: { delaysMs: DEFAULT_DELAYS_MS, repeatLast: true, horizonMs: DURABLE_HORIZON_MS },
};

const SCHEDULE_RULES: Rules<keyof RetrySchedule> = {
  delaysMs: listOf(`integers from 0 to ${MAX_TIMER_MS}`, (ms) => isInteger(ms, 0, MAX_TIMER_MS)),
  repeatLast: oneOf(true, false),
  horizonMs: integer(0, Number.MAX_SAFE_INTEGER),
  maxWaitMs: integer(0, MAX_TIMER_MS),
};

function checkSchedule(schedule: unknown): Partial<RetrySchedule> {
  const subject = { name: 'schedule', path: ['schedule'] };
  return check<RetrySchedule>(schedule ?? {}, SCHEDULE_RULES, subject);
}

/**
 * Completes a schedule with the defaults of a sender. With its own delays it does not repeat the last one, unless
 * `repeatLast` is given.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` begins with `schedule`.
 */
export function senderSchedule(options: unknown, horizonMs: number): CompleteSchedule {
  const given = checkSchedule(options);
  const { delaysMs = DEFAULT_DELAYS_MS, repeatLast = given.delaysMs === undefined } = given;
  // Assigned, not spread: `given` has no prototype, and must keep none.
  return Object.assign(given, { delaysMs, repeatLast, horizonMs: given.horizonMs ?? horizonMs });
}

/**
 * Completes a schedule with the defaults of `sendWebhook` (D71).
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` begins with `schedule`.
 */
export function directSchedule(options: unknown): CompleteSchedule {
  const given = checkSchedule(options);
  // Without an end the call would not return while the receiver fails.
  if (given.repeatLast === true && given.horizonMs === undefined) {
    throw invalidOption('schedule.repeatLast needs schedule.horizonMs', ['schedule', 'horizonMs']);
  }
  const { delaysMs = [500, 2000, 5000], maxWaitMs = 30_000 } = given;
  const { horizonMs = Number.POSITIVE_INFINITY } = given;
  return Object.assign(given, { delaysMs, maxWaitMs, horizonMs });
}

export interface ScheduleToExplain {
  /**
   * Whose defaults complete the schedule: a sender's with a durable queue (default), a sender's with
   * its queue in memory, or those of `sendWebhook`.
   */
  readonly of?: 'durable' | 'memory' | 'sendWebhook' | undefined;
  /** The `schedule` option. */
  readonly schedule?: Partial<RetrySchedule> | undefined;
}

/** Times are in ms from acceptance, as if attempts took no time. */
export interface ExplainedAttempt {
  /** From 1. */
  readonly attempt: number;
  /** Without jitter. */
  readonly earliestMs: number;
  /** With the most jitter before each attempt. */
  readonly latestMs: number;
  /** Whether it is made regardless of the jitter before it. */
  readonly isCertain: boolean;
}

export interface ExplainedSchedule {
  readonly attempts: readonly ExplainedAttempt[];
  /** Why the list ends; `list-full`: it has 1000 attempts, and there are more. */
  readonly end: GiveUpReason | 'list-full';
  /** Time from acceptance after which nothing is sent, in ms; absent without a limit. */
  readonly horizonMs?: number;
}

const RULES: Rules<keyof ScheduleToExplain> = {
  of: oneOf('durable', 'memory', 'sendWebhook'),
  // Checked by `checkSchedule`.
  schedule: ANYTHING,
};

const MAX_ATTEMPTS = 1000;

/**
 * Lists all attempts of a message that always fails, if no receiver sends Retry-After and no status allows fewer
 * attempts (D71, D72).
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function explainSchedule(what: ScheduleToExplain = {}): ExplainedSchedule {
  const schedule = completeSchedule(what);
  const { horizonMs } = schedule;
  const horizon = Number.isFinite(horizonMs) ? { horizonMs } : {};
  const attempts: ExplainedAttempt[] = [FIRST];
  for (let last = FIRST; ; ) {
    const earliest = after(schedule, { attempt: last.attempt, now: last.earliestMs }, NO_JITTER);
    if (earliest.kind === 'dead') return { attempts, end: earliest.reason, ...horizon };
    if (attempts.length === MAX_ATTEMPTS) return { attempts, end: 'list-full', ...horizon };
    const latest = after(schedule, { attempt: last.attempt, now: last.latestMs }, MOST_JITTER);
    last = {
      attempt: last.attempt + 1,
      earliestMs: earliest.at,
      // Dead only if the most jitter moves it past the horizon; with less jitter it is made by then.
      latestMs: latest.kind === 'retry' ? latest.at : horizonMs,
      isCertain: last.isCertain && latest.kind === 'retry',
    };
    attempts.push(last);
  }
}

const FIRST: ExplainedAttempt = { attempt: 1, earliestMs: 0, latestMs: 0, isCertain: true };

const NO_JITTER = (): number => 0;
/** The limit of a random number, which is below 1. */
const MOST_JITTER = (): number => 1;

function after(
  schedule: RetrySchedule,
  { attempt, now }: { readonly attempt: number; readonly now: number },
  random: () => number,
): NextAttempt {
  const failed = { step: attempt - 1, retryAfterMs: undefined, acceptedAt: 0, now };
  return nextAttempt(schedule, failed, random);
}

function completeSchedule(what: unknown): CompleteSchedule {
  const subject = { name: 'what to explain', path: [] };
  const given = check<ScheduleToExplain>(what, RULES, subject);
  const { of, schedule } = given;
  if (of === 'sendWebhook') return directSchedule(schedule);
  return senderSchedule(schedule, of === 'memory' ? MEMORY_HORIZON_MS : DURABLE_HORIZON_MS);
}
