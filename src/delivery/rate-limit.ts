/** Limits the rate of requests and messages to a destination, for all processes that share its queue. */
import type { ApplicationUpdate } from '../queue/queue.ts';
import { BoundedMap } from '../runtime/bounded-map.ts';
import type { ResolvedApplication } from '../settings/source.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';

export type RateLimit = Pick<ResolvedApplication, 'maxRequestsPerSecond' | 'maxMessagesPerSecond'>;

/** Returns how many messages a request may have: those of one second, at least 1. */
export function maxMessagesAtOnce({ maxMessagesPerSecond }: RateLimit): number {
  if (maxMessagesPerSecond === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor(maxMessagesPerSecond));
}

/**
 * Settling and claiming take time. So a claim is made early: by `LEAD_MS` and twice the round trip of the last claim. Its
 * request then waits in this process until the limit allows it.
 */
const LEAD_MS = 10;

/** Longest wait in this process, in ms. */
export const MAX_LEAD_MS = 1000;

/** Maximum plausible wait, in ms. Two intervals are always plausible. */
const MAX_WAIT_MS = 60_000;

/** The request that was made last. */
export interface LastRequest {
  readonly limit: RateLimit;
  readonly messageCount: number;
  /** When it began, in the queue's time. May be late by the round trip, never early. */
  readonly beganAt: number;
  /** Time since it began, in ms. */
  readonly elapsedMs: number;
  /** Time that its claim took, in ms. */
  readonly roundTripMs: number;
}

/**
 * Adds two times to the state: when the next request may begin, and a pause that ends a little earlier. The queue stores
 * both, and allows an application one request at a time. The limit therefore holds for all processes of the queue.
 */
export function limitRate(
  state: ApplicationUpdate,
  { limit, messageCount, beganAt, elapsedMs, roundTripMs }: LastRequest,
): ApplicationUpdate {
  const intervalMs = intervalAfter(messageCount, limit);
  if (intervalMs === 0) return state;
  const breaker = state.circuitBreaker as CircuitBreaker;
  const leadMs = Math.min(MAX_LEAD_MS, LEAD_MS + 2 * roundTripMs);
  return {
    ...state,
    circuitBreaker: { ...breaker, nextRequestAt: beganAt + intervalMs },
    maxMessages: Math.min(state.maxMessages, maxMessagesAtOnce(limit)),
    pauseMs: Math.max(state.pauseMs, Math.ceil(intervalMs - elapsedMs - leadMs)),
  };
}

/** Returns the time between the beginnings of a request with so many messages and the next one, in ms. */
export function intervalAfter(messageCount: number, limit: RateLimit): number {
  const { maxRequestsPerSecond = Number.POSITIVE_INFINITY } = limit;
  const { maxMessagesPerSecond = Number.POSITIVE_INFINITY } = limit;
  return 1000 * Math.max(1 / maxRequestsPerSecond, messageCount / maxMessagesPerSecond);
}

interface NextRequest {
  /** As the queue stores it. */
  readonly nextRequestAt: number;
  /** The same on the monotonic clock, exactly. */
  readonly allowedAt: number;
}

/** Maximum number of applications whose last request is remembered. */
const MAX_REMEMBERED = 1000;

/**
 * Waits for rate limits. Remembers the last request of this process to each limited application: its time is known
 * exactly, but that of another process only within the round trip of a claim.
 */
export class RateLimits {
  readonly #next = new BoundedMap<string, NextRequest>(MAX_REMEMBERED);

  /**
   * Must be called when a request begins, not only when it ends: if the lease is lost, this process may have a second
   * claim of the application.
   */
  recordRequest({ applicationId, limit, messageCount, beganAt, sentAt }: BegunRequest): void {
    const intervalMs = intervalAfter(messageCount, limit);
    const next = { nextRequestAt: beganAt + intervalMs, allowedAt: sentAt + intervalMs };
    if (intervalMs === 0) this.#next.delete(applicationId);
    else this.#next.set(applicationId, next);
  }

  /** Returns the time until the limit allows a request, in ms; 0 without one. */
  waitMs(
    applicationId: string,
    { limit, nextRequestAt, queueMs, monotonicMs }: NextRequestInput,
  ): number {
    const known = this.#next.get(applicationId);
    const knownMs = known === undefined ? 0 : known.allowedAt - monotonicMs;
    const isKnown = nextRequestAt === null || nextRequestAt === known?.nextRequestAt;
    const storedMs = isKnown ? 0 : nextRequestAt - queueMs;
    const waitMs = Math.ceil(Math.max(0, knownMs, storedMs));
    // A longer wait comes from a limit that was raised, or from another queue's clock.
    return waitMs > Math.max(MAX_WAIT_MS, 2 * intervalAfter(1, limit)) ? 0 : waitMs;
  }
}

interface BegunRequest extends Pick<LastRequest, 'limit' | 'messageCount' | 'beganAt'> {
  readonly applicationId: string;
  /** On the monotonic clock. */
  readonly sentAt: number;
}

interface NextRequestInput extends Pick<CircuitBreaker, 'nextRequestAt'> {
  readonly limit: RateLimit;
  /** Present time of the queue. May be early by the round trip of the claim, never late. */
  readonly queueMs: number;
  /** The same moment on the monotonic clock. */
  readonly monotonicMs: number;
}
