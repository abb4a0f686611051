/** Protects against replayed requests: the time of sending is signed. */
import { check, integer, type Rules, usable } from '../option-rules.ts';
import { systemClock } from '../runtime/clock.ts';
import type { ReceivedV2 } from './parse-body.ts';

export interface FreshnessOptions {
  /** Maximum distance between the time of sending and now, in milliseconds. Default 300,000 (5 minutes). */
  readonly toleranceMs?: number | undefined;
  /** Now, in milliseconds since the epoch. Default: the system's time. */
  readonly now?: number | undefined;
}

const DEFAULT_TOLERANCE_MS = 300_000;

const RULES: Rules<keyof FreshnessOptions> = {
  toleranceMs: integer(0, Number.MAX_SAFE_INTEGER),
  now: usable('a number', Number.isFinite),
};

/**
 * Returns whether a v2 message was sent just now, by its `date_created`, which a sender sets for each
 * attempt: a retry after hours is as fresh as the first attempt. Format 1 has no such time.
 *
 * Returns `false` for an unreadable time. Both clocks must be right within the tolerance.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function isFresh(
  message: Pick<ReceivedV2, 'date_created'>,
  options: FreshnessOptions = {},
): boolean {
  const given = check<FreshnessOptions>(options, RULES);
  const { toleranceMs = DEFAULT_TOLERANCE_MS, now = systemClock.now() } = given;
  // False for NaN, from an unreadable time.
  return Math.abs(now - Date.parse(message.date_created)) <= toleranceMs;
}
