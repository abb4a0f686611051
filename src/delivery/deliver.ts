/** Delivers a claim: finds its destination, makes one attempt, and settles the claim. */
import type { ApplicationUpdate, Claim } from '../queue/queue.ts';
import { isPromiseLike } from '../runtime/host-calls.ts';
import { NumberedItems } from '../runtime/numbered-items.ts';
import { withTimeout } from '../runtime/timers.ts';
import type { AttemptResult } from '../webhook/outcome.ts';
import { type AttemptParts, encodeAndSign, retryAfterOf } from './attempt.ts';
import {
  afterMissing,
  type CircuitBreaker,
  circuitBreakerOf,
  initialState,
  isOfAnotherUrl,
  newCircuitBreaker,
} from './circuit-breaker.ts';
import { type ClaimCallParts, ClaimCalls, type Lease } from './claim-calls.ts';
import {
  type Destination,
  type Destinations,
  isUnresolved,
  type Unresolved,
} from './destination.ts';
import {
  intervalAfter,
  limitRate,
  MAX_LEAD_MS,
  maxMessagesAtOnce,
  RateLimits,
} from './rate-limit.ts';
import { type ReportParts, reportAttempt } from './report-attempt.ts';
import type { DeliveryPolicy } from './retry-policy.ts';
import type { HeldClaim } from './scheduler.ts';
import { type FinishedAttempt, settlementOf } from './settlement.ts';
import type { Slot } from './slots.ts';

export interface DeliveryParts extends AttemptParts, ReportParts, ClaimCallParts {
  readonly destinations: Destinations;
  readonly policy: DeliveryPolicy;
  /** Time for which a request may wait for settings or a response in its active slot, in ms (D75). */
  readonly lateAfterMs: number;
  readonly deadlineMs: number;
  /** Called when there may be a free slot or place to wait. */
  readonly onSlotFree: () => void;
}

/**
 * Maximum time to ask for the state of a failing destination, in ms. Below the 10 s for which `close` waits: a claim that
 * is not settled by then is released as unsent.
 */
const STATE_MS = 5000;

interface WaitingClaim {
  readonly applicationId: string;
  /** Whether this process has got a newer claim of the application. */
  isLost: boolean;
}

interface AttemptInput extends HeldClaim {
  readonly destination: Destination;
  readonly breaker: CircuitBreaker;
}

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #calls: ClaimCalls;
  readonly #rateLimits = new RateLimits();
  /** Claims that wait for settings or a rate limit. */
  readonly #waiting = new NumberedItems<WaitingClaim>();
  #attempts = 0;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
    this.#calls = new ClaimCalls(parts);
  }

  get attempts(): number {
    return this.#attempts;
  }

  /** Rejects only if the claim cannot be read. */
  deliver(held: HeldClaim): Promise<void> {
    const { applicationId } = held.claim;
    this.#calls.recordClaim(held.claim);
    // A queue allows one claim per application (law 2 in queue/queue.ts): an older one has lost its lease.
    for (const older of this.#waiting) {
      if (older.applicationId === applicationId) older.isLost = true;
    }
    return this.#resolve(held);
  }

  #resolve(held: HeldClaim): Promise<void> {
    const found = this.#parts.destinations.resolve(held.claim.applicationId);
    return isPromiseLike(found)
      ? this.#afterWait(held, found, (destination) => this.#deliverTo(destination, held))
      : this.#deliverTo(found, held);
  }

  /** Not async, like `deliver`: each promise costs time and memory, and there are many attempts. */
  #deliverTo(destination: Destination | Unresolved, held: HeldClaim): Promise<void> {
    const { clock, signal, policy } = this.#parts;
    const { claim } = held;
    if (signal.aborted) return this.#calls.release(claim);
    if (isUnresolved(destination)) return this.#releaseMissing(claim, destination);
    if (destination.isRefused) return this.#releaseMissing(claim, { because: 'refused' });
    const smaller = stateForSmallerClaim(claim, destination, policy);
    if (smaller !== undefined) return this.#calls.release(claim, smaller);
    const breaker = circuitBreakerOf(claim.state, destination.urlHash, policy);
    const waitMs = this.#rateLimits.waitMs(claim.applicationId, {
      limit: destination.application,
      nextRequestAt: breaker.nextRequestAt,
      queueMs: this.#queueTime(held),
      monotonicMs: clock.monotonicMs(),
    });
    if (waitMs === 0) return this.#attempt({ ...held, destination, breaker });
    if (waitMs > MAX_LEAD_MS) {
      return this.#calls.release(claim, { ...claim.state, pauseMs: waitMs - MAX_LEAD_MS });
    }
    // Looked up again after the wait, in which the URL or secret may change. A timer may also fire a fraction early.
    const waited = clock.sleepUnref(waitMs, signal);
    return this.#afterWait(held, waited, () => this.#resolve(held));
  }

  #attempt(input: AttemptInput): Promise<void> {
    const { clock, deadlineMs, leaseMs } = this.#parts;
    const { claim, destination, requestedAt, requestedAtWall } = input;
    const intervalMs = intervalAfter(claim.messages.length, destination.application);
    // A lease that ends before the attempt would let messages be sent twice. If it ends before the interval of a rate
    // limit, and this process dies, another one would send too early.
    const neededMs = Math.max(deadlineMs, intervalMs);
    // A queue may use the wall clock, which can be set, and which runs on while the machine sleeps.
    const elapsedMs = Math.max(clock.monotonicMs() - requestedAt, clock.now() - requestedAtWall);
    const leftMs = leaseMs - elapsedMs;
    return leftMs > neededMs
      ? this.#send(input, { sinceMs: requestedAt, leaseMs })
      : this.#attemptWithNewLease(input, Math.max(leaseMs, 2 * intervalMs));
  }

  async #attemptWithNewLease(input: AttemptInput, leaseMs: number): Promise<void> {
    const lease = await this.#calls.extend(input.claim, leaseMs);
    if (lease !== undefined) await this.#send(input, lease);
  }

  async #send(input: AttemptInput, lease: Lease): Promise<void> {
    const { claim, destination, breaker, slot, requestedAt, answeredAt } = input;
    const { policy, random, clock, observe, tracker, poster, lastFailures } = this.#parts;
    const { applicationId, format, messages } = claim;
    const { url, secret, tls, application } = destination;
    const { body, headers, maxRetryCount } = encodeAndSign(messages, secret, this.#parts);
    this.#attempts += 1;
    const started = {
      applicationId,
      attempt: this.#attempts,
      format,
      messageCount: messages.length,
      bytes: body.length,
      maxRetryCount,
      isProbe: breaker.isOpen,
    };
    if (breaker.isOpen) observe('destination-probing', () => ({ applicationId }));
    observe('attempt-started', () => started);
    const stopLateTimer = this.#startLateTimer(slot);
    const sentAt = clock.monotonicMs();
    const request = {
      limit: application,
      messageCount: messages.length,
      beganAt: claim.nowMs + (sentAt - requestedAt),
    };
    this.#rateLimits.recordRequest({ ...request, applicationId, sentAt });
    const endRequest = lastFailures.beginRequest({ applicationId, messages, sentAt });
    const result = await poster.post({ url, body, headers, tls });
    endRequest();
    // Not before the end of the response: its body may hang too.
    stopLateTimer();
    const finished: FinishedAttempt = {
      messages,
      claimedAtMs: claim.nowMs,
      breaker,
      result,
      bodyBytes: body.length,
      retryAfterMs: retryAfterOf(result, clock.now()),
      now: this.#queueTime(input),
    };
    const mayHaveReopened = breaker.health === 'failing' && !isSuccess(result);
    const attempted = mayHaveReopened
      ? await this.#withNewBreakerIfReopened(applicationId, finished)
      : finished;
    const settlement = settlementOf(attempted, policy, random);
    const state = limitRate(settlement.state, {
      ...request,
      elapsedMs: clock.monotonicMs() - sentAt,
      roundTripMs: answeredAt - requestedAt,
    });
    const endSettling = tracker.beginSettling();
    try {
      const isSettled = await this.#calls.settle(claim, { ...settlement, state }, lease);
      reportAttempt({ claim, attempted, settlement, started, isLost: !isSettled }, this.#parts);
    } finally {
      endSettling();
    }
  }

  /** Uses a new circuit breaker if the destination was reopened meanwhile: the old one could close it again. */
  async #withNewBreakerIfReopened(
    applicationId: string,
    attempted: FinishedAttempt,
  ): Promise<FinishedAttempt> {
    const { queue, policy, clock } = this.#parts;
    const { breaker } = attempted;
    // Without a signal: `close` must not end the wait, since the breaker of an aborted request is written too.
    const asked = withTimeout(queue.applicationState(applicationId), { clock, ms: STATE_MS });
    const answer = await asked.catch(() => undefined);
    if (answer?.value?.health !== 'untried') return attempted;
    return { ...attempted, breaker: newCircuitBreaker(breaker.urlHash, policy) };
  }

  /** Returns the queue's time. It may be early by the round trip of the claim, never late. */
  #queueTime({ claim, answeredAt }: HeldClaim): number {
    return claim.nowMs + (this.#parts.clock.monotonicMs() - answeredAt);
  }

  /** Awaits `work`, then calls `deliver`, unless this process got a newer claim of the application meanwhile. */
  async #afterWait<T>(
    { claim: { applicationId }, slot }: HeldClaim,
    work: Promise<T>,
    deliver: (result: T) => Promise<void>,
  ): Promise<void> {
    const waiting = { applicationId, isLost: false };
    const number = this.#waiting.add(waiting);
    const result = await this.#inSlot(slot, work);
    this.#waiting.remove(number);
    if (!waiting.isLost) await deliver(result);
  }

  /** Awaits `work`. Gives up the active slot if that takes long, and takes one again afterwards. */
  async #inSlot<T>(slot: Slot, work: Promise<T>): Promise<T> {
    const stopLateTimer = this.#startLateTimer(slot);
    try {
      return await work;
    } finally {
      stopLateTimer();
      const resumed = slot.resume();
      if (resumed !== undefined) {
        // The request no longer waits, so another one may.
        this.#parts.onSlotFree();
        await resumed;
      }
    }
  }

  /**
   * Starts a timer that gives up the active slot if the host's settings or the receiver take long (D75). Returns a function
   * that stops it.
   */
  #startLateTimer(slot: Slot): () => void {
    const { clock, lateAfterMs, onSlotFree } = this.#parts;
    const wait = (): void => {
      if (slot.tryToWait()) onSlotFree();
    };
    return clock.startTimer(lateAfterMs, wait, 'unref');
  }

  /** Releases a claim without a usable destination, and pauses the destination (D72). */
  async #releaseMissing(claim: Claim, missing: Unresolved | { because: 'refused' }): Promise<void> {
    const { observe, lastFailures } = this.#parts;
    const { applicationId, state } = claim;
    const update = afterMissing(state, this.#parts);
    const { pauseMs: waitMs } = update;
    lastFailures.record({ applicationId, ...missing });
    observe('destination-missing', () => ({ applicationId, waitMs, because: missing.because }));
    await this.#calls.release(claim, update);
  }
}

/** Returns the state that makes the next claim smaller, to release this one with; `undefined` if it is small enough. */
function stateForSmallerClaim(
  { messages, state }: Claim,
  { application, urlHash }: Destination,
  policy: DeliveryPolicy,
): ApplicationUpdate | undefined {
  // The claim has as many messages as the old URL was trusted with; the new one is untried (D75).
  if (isOfAnotherUrl(state, urlHash) && messages.length > policy.cautiousMaxMessages) {
    const { circuitBreaker } = state;
    return { ...initialState(policy), circuitBreaker, pauseMs: 0 };
  }
  const maxMessages = maxMessagesAtOnce(application);
  // The rate limit is new or was lowered.
  return messages.length > maxMessages ? { ...state, maxMessages, pauseMs: 0 } : undefined;
}

const isSuccess = (result: AttemptResult): boolean =>
  result.kind === 'response' && result.status < 300;
