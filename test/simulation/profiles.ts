/** Policies for worlds of different duration. Their limits are reached with few messages. */

import { DEFAULT_POLICY } from '../../src/delivery/retry-policy.ts';
import type { SeededRandom } from '../helpers/seeded-random.ts';
import { pickWeighted } from './random-choices.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

export interface Profile {
  /** Relative probability. */
  readonly weight: number;
  readonly schedule: {
    readonly delaysMs: readonly number[];
    readonly repeatLast: boolean;
    readonly horizonMs: number;
  };
  readonly maxProbeWaitMs: number;
  /** Maximum duration of the faults. */
  readonly spanMs: number;
  readonly maxRetryAfterMs: number;
}

const PROFILES: readonly Profile[] = [
  {
    weight: 8,
    schedule: { delaysMs: [1000, 5000, 20_000, 60_000], repeatLast: true, horizonMs: 2 * HOUR_MS },
    maxProbeWaitMs: 30_000,
    spanMs: 20 * MINUTE_MS,
    maxRetryAfterMs: 2 * MINUTE_MS,
  },
  {
    weight: 5,
    schedule: { delaysMs: [500, 2000, 4000], repeatLast: false, horizonMs: 4 * MINUTE_MS },
    maxProbeWaitMs: 10_000,
    spanMs: 10 * MINUTE_MS,
    maxRetryAfterMs: MINUTE_MS,
  },
  {
    // The horizon is shorter than most faults, so messages expire.
    weight: 4,
    schedule: { delaysMs: [1000, 10_000, 30_000], repeatLast: true, horizonMs: 2 * MINUTE_MS },
    maxProbeWaitMs: 20_000,
    spanMs: 12 * MINUTE_MS,
    maxRetryAfterMs: MINUTE_MS,
  },
  {
    // Failed messages are due again at once.
    weight: 1,
    schedule: { delaysMs: [0, 0, 2000, 30_000], repeatLast: true, horizonMs: 20 * MINUTE_MS },
    maxProbeWaitMs: 30_000,
    spanMs: 10 * MINUTE_MS,
    maxRetryAfterMs: MINUTE_MS,
  },
  {
    // The default of a memory queue.
    weight: 3,
    schedule: { delaysMs: DEFAULT_POLICY.schedule.delaysMs, repeatLast: true, horizonMs: HOUR_MS },
    maxProbeWaitMs: 5 * MINUTE_MS,
    spanMs: 2 * HOUR_MS,
    maxRetryAfterMs: HOUR_MS,
  },
  {
    // The default of a durable queue: days.
    weight: 1,
    schedule: {
      delaysMs: DEFAULT_POLICY.schedule.delaysMs,
      repeatLast: true,
      horizonMs: 72 * HOUR_MS,
    },
    maxProbeWaitMs: 5 * MINUTE_MS,
    spanMs: 30 * HOUR_MS,
    maxRetryAfterMs: 30 * HOUR_MS,
  },
];

export const pickProfile = (random: SeededRandom): Profile => pickWeighted(random, PROFILES);

export type Policy = Readonly<ReturnType<typeof pickPolicy>>;

/** Sets every engine option that the checks need. None is left to its default. */
export function pickPolicy(random: SeededRandom, profile: Profile) {
  const { schedule, maxProbeWaitMs } = profile;
  const maxMessages = random.pick([2, 4, 8, 16, 1000]);
  const isTight = random() < 0.3;
  return {
    schedule,
    minProbeWaitMs: 1000,
    maxProbeWaitMs,
    maxMessages,
    cautiousMaxMessages: random.pick([1, 2, 3, 6, 100]),
    maxBodyBytes: random.pick([2000, 4000, 12_000, 1_048_576]),
    largeBodyBytes: random.pick([1200, 3000, 100_000]),
    refusedMaxAttempts: random.integer(3, 6),
    bisectionMaxFailures: random.pick([2, 6, 12]),
    openAfterFailures: random.integer(3, 5),
    slowStartStepMs: 1000,
    goneConfirmMs: random.pick([10_000, 60_000]),
    growAfterSuccesses: random.pick([2, 5, 20]),
    maxActiveRequests: isTight ? random.integer(1, 3) : 64,
    maxWaitingRequests: isTight ? random.pick([1, 2, 3, 256]) : 1024,
    lateAfterMs: isTight ? 2000 : 50,
    leaseMs: 60_000,
    maintenanceIntervalMs: random.pick([60_000, 300_000]),
    stalledAfterMs: 60_000,
  };
}
