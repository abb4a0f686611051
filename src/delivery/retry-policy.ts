/** Every number of the delivery engine, with its default. */
import type { Random } from '../runtime/random.ts';
import { checkSchedule } from '../webhook/common-options.ts';
import { LARGE_BODY_BYTES } from '../webhook/outcome.ts';
import type { RetrySchedule } from '../webhook/retry.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** How the engine delivers, retries and holds back. */
export interface DeliveryPolicy {
  /** When a message that failed is sent again, and until when (D71). */
  readonly schedule: EngineSchedule;
  /**
   * The largest body of a request, in bytes (D73); `send` refuses a message that is larger by itself.
   * 1 to 9007199254740991; default 1048576.
   */
  readonly maxBodyBytes: number;
  /** The most messages in a request (D31). 1 to 1000; default 1000. */
  readonly maxMessages: number;
  /**
   * The same while the destination is untried or its last request failed (D75). 1 to 1000; default
   * 100.
   */
  readonly cautiousMaxMessages: number;
  /**
   * How many attempts in all a message has that is refused with a 4xx, but for 408, 413, 425 and 429
   * (D72). 1 to 1000000; default 6.
   */
  readonly refusedMaxAttempts: number;
  /**
   * A body of more bytes that is refused with 400, 401, 403 or 500 may be too large (D73). 1 to
   * 9007199254740991; default 100000.
   */
  readonly largeBodyBytes: number;
  /**
   * After how many requests in a row without a success a bisection ends (D74). 1 to 1000000; default
   * 12.
   */
  readonly bisectionMaxFailures: number;
  /**
   * After how many failed requests in a row a destination is open, which is: only probed (D75). 1 to
   * 1000000; default 5.
   */
  readonly openAfterFailures: number;
  /**
   * The shortest wait between two probes, in ms, where the schedule's is shorter: no schedule makes probes a
   * flood (D75). `maxProbeWaitMs` comes first. 1 to 2147483647; default 1000.
   */
  readonly minProbeWaitMs: number;
  /** The longest wait between two probes, in ms (D75). 1 to 2147483647; default 300000. */
  readonly maxProbeWaitMs: number;
  /**
   * After a recovery there is one request in this time, in ms, then two, four, eight … (D75). 1 to
   * 2147483647; default 1000.
   */
  readonly slowStartStepMs: number;
  /**
   * How far apart two answers of 410 must be to close a destination, in ms; with 0 the first one does
   * (D72). 0 to 2147483647; default 60000.
   */
  readonly goneConfirmMs: number;
  /**
   * After how many successes a learned byte budget grows by a tenth (D73), and the number of messages that
   * are answered in time doubles. 1 to 1000000; default 20.
   */
  readonly growAfterSuccesses: number;
}

/** What decisions are made by: the numbers, and chance. */
export interface Decision {
  readonly policy: DeliveryPolicy;
  readonly random: Random;
}

export type EngineSchedule = RetrySchedule & { readonly horizonMs: number };

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

export const DEFAULT_POLICY: DeliveryPolicy = {
  schedule: { delaysMs: DEFAULT_DELAYS_MS, repeatLast: true, horizonMs: DURABLE_HORIZON_MS },
  maxBodyBytes: 1_048_576,
  maxMessages: 1000,
  cautiousMaxMessages: 100,
  refusedMaxAttempts: 6,
  largeBodyBytes: LARGE_BODY_BYTES,
  bisectionMaxFailures: 12,
  openAfterFailures: 5,
  minProbeWaitMs: SECOND_MS,
  maxProbeWaitMs: 5 * MINUTE_MS,
  slowStartStepMs: SECOND_MS,
  goneConfirmMs: MINUTE_MS,
  growAfterSuccesses: 20,
};

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
