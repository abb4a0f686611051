/** The options that the direct sender and a queue's share: one name, one rule, one meaning each. */
import {
  ANYTHING,
  check,
  integer,
  invalidOption,
  isInteger,
  MAX_TIMER_MS,
  object,
  oneOf,
  type Rules,
} from '../option-rules.ts';
import type { Deadlines, PosterOptions } from './http/client.ts';
import type { NetworkPolicy } from './http/ssrf-guard.ts';
import type { RetrySchedule } from './retry.ts';

/** D73 */
export const DEFAULT_MAX_BODY_BYTES = 1_048_576;
/** D76 */
export const DEFAULT_DEADLINE_MS = 20_000;
const HEADERS_MS = 15_000;
/** What of a longer deadline is left for the response body. */
const BODY_MS = 5000;

type CommonOption =
  | 'dialect'
  | 'schedule'
  | 'maxBodyBytes'
  | 'deadlineMs'
  | 'network'
  | 'dispatcher'
  | 'headers'
  | 'userAgent';

export const COMMON_RULES: Rules<CommonOption> = {
  dialect: oneOf('strict', 'open'),
  // Has a check of its own.
  schedule: ANYTHING,
  maxBodyBytes: integer(1, Number.MAX_SAFE_INTEGER),
  deadlineMs: integer(1, MAX_TIMER_MS),
  network: oneOf('allow-private', 'public', 'delegated'),
  dispatcher: object(
    'a dispatcher of undici',
    (value) => 'request' in value && typeof value.request === 'function',
  ),
  // A Headers or a Map has no keys of its own: it would be dropped without a word.
  headers: object('an object of names and values', (value) => !(Symbol.iterator in value)),
  userAgent: { expected: 'a string', isUsable: (value) => typeof value === 'string' },
};

export const SCHEDULE_RULES: Rules<keyof RetrySchedule> = {
  delaysMs: {
    expected: `an array of integers from 0 to ${MAX_TIMER_MS}`,
    isUsable: (value) =>
      Array.isArray(value) && value.every((delay) => isInteger(delay, 0, MAX_TIMER_MS)),
  },
  repeatLast: oneOf(true, false),
  horizonMs: integer(0, Number.MAX_SAFE_INTEGER),
  maxWaitMs: integer(0, MAX_TIMER_MS),
};

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` begins with `schedule`. */
export function checkSchedule(schedule: unknown): Partial<RetrySchedule> {
  return check<RetrySchedule>(schedule ?? {}, SCHEDULE_RULES, {
    name: 'schedule',
    path: ['schedule'],
  });
}

/** A longer deadline is more time for the receiver's work and leaves the body its part (D76). */
export function deadlinesOf(deadlineMs = DEFAULT_DEADLINE_MS): Partial<Deadlines> {
  return { headersMs: Math.max(HEADERS_MS, deadlineMs - BODY_MS), totalMs: deadlineMs };
}

/** A foreign dispatcher chooses its addresses itself, so the guard must be out of the way (D77). */
export function checkDispatcher(
  dispatcher: PosterOptions['dispatcher'],
  network: NetworkPolicy,
): void {
  if (dispatcher === undefined || network === 'delegated') return;
  throw invalidOption("a dispatcher of your own needs network: 'delegated'", ['network']);
}
