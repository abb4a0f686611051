/**
 * The maximum time from the last fault until everything deliverable is delivered. Derived from the
 * policy:
 *
 * - A failed message waits for its next attempt. A destination waits for its pause, its next probe or its
 *   settings. These waits overlap, none exceeds the longest delay, probe wait or Retry-After, and jitter
 *   adds up to a quarter (D71).
 * - Messages claimed by a crashed process are due when its lease expires.
 * - Messages in one batch with a poison message may fail with it twice more, the last time to be
 *   bisected: two more waits (D74).
 * - Settings and queue are retried after at most 40 s, slow start takes 10 s, and the requests take
 *   their own time.
 * - A rate limit below one request per second, or one of messages, may need an interval for each message.
 */
import type { Scenario } from './scenario.ts';

const MAX_JITTER = 1.25;
const DAY_MS = 24 * 60 * 60 * 1000;
const LOOKUP_RETRY_MS = 40_000;
const SLOW_START_MS = 10_000;
const REQUESTS_MS = 60_000;

/** In milliseconds. */
export function livenessBound(scenario: Scenario): number {
  const { policy, applications, maxRetryAfterMs } = scenario;
  const { schedule, maxProbeWaitMs, leaseMs } = policy;
  const longestDelayMs = Math.max(...schedule.delaysMs.filter((ms) => ms <= schedule.horizonMs));
  const retryAfterMs = Math.min(maxRetryAfterMs, DAY_MS);
  const waitMs = MAX_JITTER * Math.max(longestDelayMs, maxProbeWaitMs, retryAfterMs);
  const hasPoison = applications.some(({ poisonStatus }) => poisonStatus !== undefined);
  const poisonMs = hasPoison ? 2 * MAX_JITTER * longestDelayMs : 0;
  const fixedMs = leaseMs + LOOKUP_RETRY_MS + SLOW_START_MS + REQUESTS_MS;
  return waitMs + poisonMs + fixedMs + rateLimitMs(scenario);
}

function rateLimitMs({ applications, batches }: Scenario): number {
  const messages = batches.flatMap((batch) => batch.messages);
  const times = applications.map((application, index) => {
    const { maxRequestsPerSecond = 1, maxMessagesPerSecond = 1 } = application.settings;
    const rate = Math.min(maxRequestsPerSecond, maxMessagesPerSecond);
    const count = messages.filter((message) => message.application === index).length;
    return application.settings.maxMessagesPerSecond !== undefined || rate < 1
      ? (count * 1000) / rate
      : 0;
  });
  return Math.max(...times);
}
