/** The numbers that decide when and how often a message is sent, and the schedules behind them. */
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

export type EngineSchedule = RetrySchedule & { readonly horizonMs: number };

export type PolicyNumbers = OptionValues<typeof POLICY_OPTIONS>;

/** How the engine delivers, retries and holds back. */
export interface DeliveryPolicy extends PolicyNumbers {
  /** When a message that failed is sent again, and until when (D71). */
  readonly schedule: EngineSchedule;
}

/** What decisions are made by: the numbers, and chance. */
export interface Decision {
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

/** D71: what waits in memory is gone with the process, and should not look safe for days. */
export const MEMORY_HORIZON_MS = HOUR_MS;
export const DURABLE_HORIZON_MS = 72 * HOUR_MS;

/** Picks the numbers of a policy from among other options. */
export function policyNumbers(values: PolicyNumbers): PolicyNumbers {
  const names = Object.keys(POLICY_OPTIONS) as (keyof PolicyNumbers)[];
  return Object.fromEntries(names.map((name) => [name, values[name]])) as unknown as PolicyNumbers;
}

export const DEFAULT_POLICY: DeliveryPolicy = {
  ...(Object.fromEntries(
    Object.entries(POLICY_OPTIONS).map(([name, { default: value }]) => [name, value]),
  ) as unknown as PolicyNumbers),
  schedule: { delaysMs: DEFAULT_DELAYS_MS, repeatLast: true, horizonMs: DURABLE_HORIZON_MS },
};

export const SCHEDULE_RULES: Rules<keyof RetrySchedule> = {
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
 * A schedule with the engine's defaults. One with delays of its own ends where they end, unless it
 * says otherwise.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` begins with `schedule`.
 */
export function engineSchedule(options: unknown, horizonMs: number): EngineSchedule {
  const given = checkSchedule(options);
  const { delaysMs = DEFAULT_DELAYS_MS, repeatLast = given.delaysMs === undefined } = given;
  // Not spread: `given` has no prototype.
  return Object.assign(given, { delaysMs, repeatLast, horizonMs: given.horizonMs ?? horizonMs });
}

/**
 * A schedule with the defaults of `sendWebhook` (D71).
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` begins with `schedule`.
 */
export function directSchedule(options: unknown): EngineSchedule {
  const given = checkSchedule(options);
  // Without an end the call would never return while its receiver fails.
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
  readonly of?: 'durable' | 'memory' | 'sendWebhook';
  /** As a sender is given it. */
  readonly schedule?: Partial<RetrySchedule>;
}

/** Times are in ms from acceptance, as if attempts took no time. */
export interface ExplainedAttempt {
  /** From 1. */
  readonly attempt: number;
  /** Without any jitter. */
  readonly earliestMs: number;
  /** With the most jitter every time. */
  readonly latestMs: number;
  /** Whether it is made however much jitter those before it had. */
  readonly isCertain: boolean;
}

export interface ExplainedSchedule {
  readonly attempts: readonly ExplainedAttempt[];
  /** Why there are no more of them; `list-full` where there are, but 1000 are enough. */
  readonly end: GiveUpReason | 'list-full';
  /** From acceptance, in ms: nothing is sent after it; absent where there is none. */
  readonly horizonMs?: number;
}

const RULES: Rules<keyof ScheduleToExplain> = {
  of: oneOf('durable', 'memory', 'sendWebhook'),
  // Has a check of its own.
  schedule: ANYTHING,
};

const MAX_ATTEMPTS = 1000;

/**
 * All attempts of a message that always fails, where no receiver asks for longer waits with
 * Retry-After and no status allows fewer attempts (D71, D72).
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function explainSchedule(what: ScheduleToExplain = {}): ExplainedSchedule {
  const schedule = completeSchedule(what);
  const { horizonMs } = schedule;
  const horizon = Number.isFinite(horizonMs) ? { horizonMs } : {};
  const attempts: ExplainedAttempt[] = [FIRST];
  for (let last = FIRST; ; ) {
    const earliest = after(schedule, { attempt: last.attempt, now: last.earliestMs }, LEAST);
    if (earliest.kind === 'dead') return { attempts, end: earliest.reason, ...horizon };
    if (attempts.length === MAX_ATTEMPTS) return { attempts, end: 'list-full', ...horizon };
    const latest = after(schedule, { attempt: last.attempt, now: last.latestMs }, MOST);
    last = {
      attempt: last.attempt + 1,
      earliestMs: earliest.at,
      // It is late for its horizon only: of chance, nothing else depends.
      latestMs: latest.kind === 'retry' ? latest.at : horizonMs,
      isCertain: last.isCertain && latest.kind === 'retry',
    };
    attempts.push(last);
  }
}

const FIRST: ExplainedAttempt = { attempt: 1, earliestMs: 0, latestMs: 0, isCertain: true };

const LEAST = (): number => 0;
/** No random gives it, but some come as near as one likes. */
const MOST = (): number => 1;

function after(
  schedule: RetrySchedule,
  { attempt, now }: { readonly attempt: number; readonly now: number },
  random: () => number,
): NextAttempt {
  const unasked = { maxAttempts: undefined, retryAfterMs: undefined };
  return nextAttempt(schedule, { ...unasked, step: attempt - 1, acceptedAt: 0, now }, random);
}

function completeSchedule(what: unknown): EngineSchedule {
  const subject = { name: 'what to explain', path: [] };
  const given = check<ScheduleToExplain>(what, RULES, subject);
  const { of = 'durable', schedule } = given;
  if (of === 'sendWebhook') return directSchedule(schedule);
  return engineSchedule(schedule, of === 'memory' ? MEMORY_HORIZON_MS : DURABLE_HORIZON_MS);
}
