/**
 * How long after the last fault everything deliverable is delivered, at most. Derived from the
 * schedule, so that it can be promised:
 *
 * - a message that failed waits for its next attempt, a destination for its pause, its next probe or
 *   to be asked for again: all of these run at the same time, none is longer than the longest delay,
 *   probe wait or Retry-After, and chance makes it a quarter longer (D71);
 * - what a dead process had claimed is due when its lease is over;
 * - what shares its requests with a message that is always refused may fail with it twice more, the
 *   last time to be bisected: two more waits (D74);
 * - the settings and the queue are asked again after at most 40 s, slow start is over after 10 s, and
 *   the requests themselves take their time.
 */
import type { Scenario } from './scenario.ts';

const MAX_JITTER = 1.25;
const DAY_MS = 24 * 60 * 60 * 1000;
const ASKED_AGAIN_MS = 40_000;
const SLOW_START_MS = 10_000;
const REQUESTS_MS = 60_000;

export function liveness(scenario: Scenario): { readonly withinMs: number } {
  const { policy, applications, maxRetryAfterMs } = scenario;
  const { schedule, maxProbeWaitMs, leaseMs } = policy;
  const longestDelayMs = Math.max(...schedule.delaysMs.filter((ms) => ms <= schedule.horizonMs));
  const askedMs = Math.min(maxRetryAfterMs, DAY_MS);
  const waitMs = MAX_JITTER * Math.max(longestDelayMs, maxProbeWaitMs, askedMs);
  const hasPoison = applications.some(({ poisonStatus }) => poisonStatus !== undefined);
  const poisonMs = hasPoison ? 2 * MAX_JITTER * longestDelayMs : 0;
  return { withinMs: waitMs + poisonMs + leaseMs + ASKED_AGAIN_MS + SLOW_START_MS + REQUESTS_MS };
}
