/** Against requests that somebody recorded and sends again: the time of sending is signed (D23). */

import { invalidOption, isInteger } from '../option-rules.ts';
import { ownProperties } from '../own-properties.ts';
import { systemClock } from '../runtime/clock.ts';
import type { ReceivedV2 } from './parse-body.ts';

export interface FreshnessOptions {
  /** How far the time of sending may be from now, before or after it. Default 300,000 (5 minutes). */
  readonly toleranceMs?: number;
  /** Now, in milliseconds since the epoch. Default: the time of the system. */
  readonly now?: number;
}

const DEFAULT_TOLERANCE_MS = 300_000;

/**
 * Whether a v2 message was sent just now, by its `date_created`, which a sender makes anew for every
 * attempt (D23): a retry after hours is as fresh as a first sending. Format v1 has no such time.
 *
 * `false` for a time that cannot be read. Both clocks must be right within the tolerance.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION` for a tolerance that is no number from 0 on.
 */
export function isFresh(
  message: Pick<ReceivedV2, 'date_created'>,
  options: FreshnessOptions = {},
): boolean {
  const { toleranceMs = DEFAULT_TOLERANCE_MS, now = systemClock.now() } = ownProperties(options);
  if (!isInteger(toleranceMs, 0, Number.MAX_SAFE_INTEGER)) {
    throw invalidOption('expected toleranceMs to be an integer from 0', ['toleranceMs']);
  }
  // NaN, of what is no time, is not below anything.
  return Math.abs(now - Date.parse(message.date_created)) <= toleranceMs;
}
