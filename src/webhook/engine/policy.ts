/** Every number of the delivery engine, with its default. */
import { LARGE_BODY_BYTES } from '../outcome.ts';
import type { RetrySchedule } from '../retry.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** How the engine delivers, retries and holds back. Durations are in ms. */
export interface DeliveryPolicy {
  /**
   * When a message that failed is sent again, and until when (D71). Default: after 5 s, 30 s, 2 min,
   * 10 min, 30 min, 1 h, 2 h, 4 h, 8 h, 12 h, then every 12 h, until the horizon: 72 h after
   * acceptance for a durable queue, 1 h for one in memory.
   */
  readonly schedule: RetrySchedule & { readonly horizonMs: number };
  /** The largest body of a request, in bytes (D73). Default 1048576. */
  readonly maxBodyBytes: number;
  /** The most messages in a request. Default 1000, which is also the most (D31). */
  readonly maxMessages: number;
  /** The same for a destination that is untried or whose last request failed (D75). Default 100. */
  readonly cautiousMaxMessages: number;
  /** Attempts of a message that is refused with a status like 400 or 404 (D72). Default 6. */
  readonly refusedMaxAttempts: number;
  /** A larger body refused with 400, 401, 403 or 500 may be too large (D73). Default 100000. */
  readonly largeBodyBytes: number;
  /** Requests of a bisection that fail in a row before it ends (D74). Default 12. */
  readonly bisectionMaxFailures: number;
  /** Failed requests in a row before a destination is open (D75). Default 5. */
  readonly openAfterFailures: number;
  /** The longest wait between two probes of an open destination (D75). Default 300000. */
  readonly maxProbeWaitMs: number;
  /** After a recovery one request in this time, then two in the next, four … (D75). Default 1000. */
  readonly slowStartStepMs: number;
  /** How far two answers of 410 are apart that close a destination (D72). Default 60000. */
  readonly goneConfirmMs: number;
  /** After so many successes a learned byte budget grows by a tenth (D73). Default 20. */
  readonly growAfterSuccesses: number;
}

export const DEFAULT_DELAYS_MS = [
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
  maxProbeWaitMs: 5 * MINUTE_MS,
  slowStartStepMs: SECOND_MS,
  goneConfirmMs: MINUTE_MS,
  growAfterSuccesses: 20,
};
