/** Limits the rate of requests and messages to a destination, for all processes that share its queue. */
import type { ApplicationUpdate } from '../queue/queue.ts';
import type { ResolvedApplication } from '../settings/source.ts';

export type RateLimit = Pick<ResolvedApplication, 'maxRequestsPerSecond' | 'maxMessagesPerSecond'>;

/** Returns how many messages a request may have: those of one second, at least 1. */
export function maxMessagesAtOnce({ maxMessagesPerSecond }: RateLimit): number {
  if (maxMessagesPerSecond === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor(maxMessagesPerSecond));
}

/** The request that was made last. */
export interface LastRequest {
  readonly messageCount: number;
  /** Time since it began, in ms. */
  readonly elapsedMs: number;
}

/**
 * Adds to the state after a request the pause that keeps the rate. The queue keeps the pause and allows one request to an
 * application at a time, so that this holds for all its processes.
 */
export function limitRate(
  state: ApplicationUpdate,
  limit: RateLimit,
  { messageCount, elapsedMs }: LastRequest,
): ApplicationUpdate {
  const { maxRequestsPerSecond = Number.POSITIVE_INFINITY } = limit;
  const { maxMessagesPerSecond = Number.POSITIVE_INFINITY } = limit;
  const seconds = Math.max(1 / maxRequestsPerSecond, messageCount / maxMessagesPerSecond);
  if (seconds === 0) return state;
  return {
    ...state,
    maxMessages: Math.min(state.maxMessages, maxMessagesAtOnce(limit)),
    pauseMs: Math.max(state.pauseMs, Math.ceil(seconds * 1000 - elapsedMs)),
  };
}
