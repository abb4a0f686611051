/** A retry schedule as times: when a message that always fails is sent, and why that ends. Pure. */
import { ANYTHING, check, oneOf, type Rules } from '../option-rules.ts';
import {
  type GiveUpReason,
  type NextAttempt,
  nextAttempt,
  type RetrySchedule,
} from '../webhook/retry.ts';
import {
  DURABLE_HORIZON_MS,
  directSchedule,
  type EngineSchedule,
  engineSchedule,
  MEMORY_HORIZON_MS,
} from './retry-policy.ts';

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
