/** Delivers a claim: finds its destination, makes one attempt, and settles the claim. */
import type { ApplicationUpdate, Claim, MessageQueue } from '../queue/queue.ts';
import { isPromiseLike } from '../runtime/is-promise-like.ts';
import type { Random } from '../runtime/random.ts';
import { jittered } from '../webhook/retry.ts';
import { encodeAndSign, post, retryAfterOf, type Sending } from './attempt.ts';
import {
  afterMissing,
  type CircuitBreaker,
  circuitBreakerOf,
  initialState,
  isOfAnotherUrl,
  newCircuitBreaker,
  updateOf,
} from './circuit-breaker.ts';
import type { Destination, Destinations, MissingDestination } from './destination.ts';
import { errorCodeOf, type QueueOperation } from './events.ts';
import { limitRate, maxMessagesAtOnce } from './rate-limit.ts';
import { type ReportParts, reportAttempt } from './report-attempt.ts';
import type { DeliveryPolicy } from './retry-policy.ts';
import type { HeldClaim } from './scheduler.ts';
import { type Attempted, type Settlement, settle } from './settle.ts';
import type { Slot } from './slots.ts';

export interface DeliveryParts extends Sending, ReportParts {
  readonly queue: MessageQueue;
  readonly destinations: Destinations;
  readonly policy: DeliveryPolicy;
  readonly random: Random;
  /** Time without settings or without response headers after which a request counts as waiting, in ms (D75). */
  readonly lateAfterMs: number;
  readonly leaseMs: number;
  /** Maximum duration of an attempt, in ms (D76). */
  readonly deadlineMs: number;
  /** Called when a slot becomes free because a request waits. */
  readonly onWaiting: () => void;
}

/** Waits between calls that settle, release or extend a claim while the queue fails, in ms. */
const SETTLE_DELAYS_MS = [100, 500, 2000, 5000, 10_000] as const;

export class Delivery {
  readonly #parts: DeliveryParts;
  #attempts = 0;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  /** Number of attempts that were started. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Rejects only if the claim cannot be read. */
  async deliver({ claim, slot, heldSince: claimedAt }: HeldClaim): Promise<void> {
    const { clock, signal, queue, destinations, deadlineMs, leaseMs } = this.#parts;
    const startedAt = clock.monotonicMs();
    const found = destinations.resolve(claim.applicationId);
    const destination = isPromiseLike(found) ? await this.#inSlot(slot, found) : found;
    if (signal.aborted) {
      await this.#retryQueueCall('release', () => queue.release(claim));
      return;
    }
    if (typeof destination === 'string' || destination.isRefused) {
      await this.#release(claim, typeof destination === 'string' ? destination : 'refused');
      return;
    }
    let heldSince = claimedAt;
    // If the settings took long, the attempt might outlast the lease, and the messages would be sent twice.
    if (clock.monotonicMs() - claimedAt + deadlineMs >= leaseMs) {
      heldSince = clock.monotonicMs();
      const answer = await this.#retryQueueCall('extend', () => queue.extend(claim, leaseMs));
      if (answer !== 'extended') return;
    }
    await this.#attempt({ claim, destination, slot, startedAt, heldSince });
  }

  async #attempt({ claim, destination, slot, startedAt, heldSince }: AttemptInput): Promise<void> {
    const { policy, random, clock, observe, queue, tracker, poster } = this.#parts;
    const { applicationId, format, messages, state } = claim;
    const breaker = circuitBreakerOf(state, destination.urlHash, policy);
    const smaller = stateForFewer(claim, destination, policy);
    if (smaller !== undefined) {
      await this.#retryQueueCall('release', () => queue.release(claim, smaller));
      return;
    }
    const request = encodeAndSign(messages, destination.secret, this.#parts);
    const { body, maxRetryCount } = request;
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
    const stopLateTimer = this.#waitWhenLate(slot);
    const sentAt = clock.monotonicMs();
    const result = await post(request, destination, { poster, onHeaders: stopLateTimer });
    stopLateTimer();
    const now = claim.nowMs + (clock.monotonicMs() - startedAt);
    const attempted: Attempted = {
      messages,
      messageCount: messages.length,
      claimedAtMs: claim.nowMs,
      breaker,
      result,
      bodyBytes: body.length,
      retryAfterMs: retryAfterOf(result, clock.now()),
      now,
    };
    const settlement = settle(attempted, policy, random);
    const lastRequest = { messageCount: messages.length, elapsedMs: clock.monotonicMs() - sentAt };
    const limited = limitRate(settlement.state, destination.application, lastRequest);
    const endSettling = tracker.beginSettling();
    try {
      const isLost = await this.#settleClaim(claim, { ...settlement, state: limited }, heldSince);
      reportAttempt({ claim, attempted, settlement, started, isLost }, this.#parts);
    } finally {
      endSettling();
    }
  }

  async #inSlot<T>(slot: Slot, work: Promise<T>): Promise<T> {
    const end = this.#waitWhenLate(slot);
    try {
      return await work;
    } finally {
      end();
      slot.resume();
    }
  }

  /** Gives up the active slot when the host's settings or the receiver take long (D75). Returns a function that stops the timer. */
  #waitWhenLate(slot: Slot): () => void {
    const { clock, lateAfterMs, onWaiting } = this.#parts;
    const wait = (): void => {
      if (slot.tryToWait()) onWaiting();
    };
    return clock.startTimer(lateAfterMs, wait, 'let-end');
  }

  /** Settles the claim. Resolves to true if the lease expired, so that another process may have the messages. */
  async #settleClaim(
    claim: Claim,
    { results, state }: Settlement,
    heldSince: number,
  ): Promise<boolean> {
    const { queue, clock, leaseMs } = this.#parts;
    let calls = 0;
    const answer = await this.#retryQueueCall('settle', () => {
      calls += 1;
      return queue.settle(claim, results, state);
    });
    // Within the lease, `lost` means that an earlier call has settled the claim but its answer was lost.
    const isOurs = calls > 1 && clock.monotonicMs() - heldSince < leaseMs;
    return answer === undefined || (answer === 'lost' && !isOurs);
  }

  /** Releases a claim without a usable destination, and pauses the destination (D72). */
  async #release(claim: Claim, because: MissingDestination): Promise<void> {
    const { policy, random, observe, queue, lastFailures } = this.#parts;
    const { applicationId, state } = claim;
    const stored = state.circuitBreaker as Partial<CircuitBreaker> | null;
    const breaker =
      stored === null
        ? newCircuitBreaker('', policy)
        : circuitBreakerOf(state, stored.urlHash ?? '', policy);
    const step = afterMissing(breaker, policy, random);
    const update: ApplicationUpdate = {
      ...updateOf(step, policy),
      tier: state.tier,
      maxMessages: state.maxMessages,
    };
    lastFailures.failed({ applicationId, because });
    observe('destination-missing', () => ({ applicationId, waitMs: step.pauseMs, because }));
    await this.#retryQueueCall('release', () => queue.release(claim, update));
  }

  /** Repeats a failing call until the lease has expired: then the messages are due again anyway (law 3 in queue/queue.ts). */
  async #retryQueueCall<T>(
    operation: QueueOperation,
    call: () => Promise<T>,
  ): Promise<T | undefined> {
    const { clock, random, observe, leaseMs, signal } = this.#parts;
    const startedAt = clock.monotonicMs();
    for (let failures = 0; ; failures += 1) {
      try {
        return await call();
      } catch (error) {
        const delayMs = SETTLE_DELAYS_MS[failures] ?? SETTLE_DELAYS_MS.at(-1) ?? 0;
        const retryInMs = jittered(delayMs, random);
        observe('queue-failed', () => ({ operation, retryInMs, ...errorCodeOf(error) }));
        // A failing queue must not delay `close` (D79).
        const isOver = clock.monotonicMs() - startedAt + retryInMs > leaseMs;
        if (isOver || signal.aborted) return undefined;
        await clock.idle(retryInMs, signal);
      }
    }
  }
}

/** Returns the state with which a claim is released that has too many messages; `undefined` if it has not. */
function stateForFewer(
  { messages, state }: Claim,
  { application, urlHash }: Destination,
  policy: DeliveryPolicy,
): ApplicationUpdate | undefined {
  // The claim has as many messages as the old URL was trusted with; the new one is untried (D75).
  if (isOfAnotherUrl(state, urlHash) && messages.length > policy.cautiousMaxMessages) {
    return { ...initialState(policy), pauseMs: 0 };
  }
  const maxMessages = maxMessagesAtOnce(application);
  // The rate limit is new or was lowered.
  return messages.length > maxMessages ? { ...state, maxMessages, pauseMs: 0 } : undefined;
}

interface AttemptInput {
  readonly claim: Claim;
  readonly destination: Destination;
  readonly slot: Slot;
  readonly startedAt: number;
  readonly heldSince: number;
}
