/** From a claim to its settling: what the scheduler runs for each claim. */

import type {
  ApplicationUpdate,
  Claim,
  ClaimedMessage,
  MessageQueue,
  MessageResult,
} from '../queue/queue.ts';
import { isPromiseLike } from '../runtime/is-promise-like.ts';
import type { Random } from '../runtime/random.ts';
import { jittered } from '../webhook/retry.ts';
import { encodeAndSign, post, retryAfterOf, type Sending } from './attempt.ts';
import {
  afterMissing,
  type BreakerChange,
  type CircuitBreaker,
  circuitBreakerOf,
  initialState,
  isOfAnotherUrl,
  newCircuitBreaker,
  updateOf,
} from './circuit-breaker.ts';
import type { Destination, Destinations, MissingDestination } from './destination.ts';
import { type DeliveryEvents, errorCodeOf, type Observe, type QueueOperation } from './events.ts';
import { attemptEnd, type LastFailures } from './report.ts';
import type { DeliveryPolicy } from './retry-policy.ts';
import type { HeldClaim } from './scheduler.ts';
import { KeptMessage } from './sender.ts';
import { type Attempted, lastAttemptOf, type Settlement, settle } from './settle.ts';
import type { Slot } from './slots.ts';
import type { Tracker } from './tracker.ts';

export interface DeliveryParts extends Sending {
  readonly queue: MessageQueue;
  readonly destinations: Destinations;
  readonly policy: DeliveryPolicy;
  readonly random: Random;
  readonly observe: Observe;
  readonly tracker: Tracker;
  /** Without settings, and then without response headers, for so long its answer is late, in ms (D75). */
  readonly patienceMs: number;
  readonly leaseMs: number;
  /** Of one attempt, in ms (D76). */
  readonly deadlineMs: number;
  readonly lastFailures: LastFailures;
  /** A request may begin beside one that waits. */
  readonly onWaiting: () => void;
  /** A destination has closed: what waits for it is to become dead letters. */
  readonly onClosed: (applicationId: string) => void;
}

/** How long to wait before the queue is told again what became of a claim, in ms. */
const SETTLE_DELAYS_MS = [100, 500, 2000, 5000, 10_000] as const;

export class Delivery {
  readonly #parts: DeliveryParts;
  #attempts = 0;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  /** How many attempts were started. */
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
      await this.#tell('release', () => queue.release(claim));
      return;
    }
    if (typeof destination === 'string' || destination.isRefused) {
      await this.#release(claim, typeof destination === 'string' ? destination : 'refused');
      return;
    }
    let heldSince = claimedAt;
    // Settings that took long may have left less of the lease than an attempt may take, after which the messages
    // would be sent again, and again.
    if (clock.monotonicMs() - claimedAt + deadlineMs >= leaseMs) {
      heldSince = clock.monotonicMs();
      const answer = await this.#tell('extend', () => queue.extend(claim, leaseMs));
      if (answer !== 'extended') return;
    }
    await this.#attempt({ claim, destination, slot, startedAt, heldSince });
  }

  async #attempt({ claim, destination, slot, startedAt, heldSince }: Attempt): Promise<void> {
    const { policy, random, clock, observe, queue, tracker, poster } = this.#parts;
    const { applicationId, format, messages, state } = claim;
    const breaker = circuitBreakerOf(state, destination.urlHash, policy);
    if (isOfAnotherUrl(state, breaker.urlHash) && messages.length > policy.cautiousMaxMessages) {
      // Claimed by what the old URL was good for: the new one is untried (D75).
      await this.#tell('release', () =>
        queue.release(claim, { ...initialState(policy), pauseMs: 0 }),
      );
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
    const onHeaders = this.#waitWhenLate(slot);
    const result = await post(request, destination, { poster, onHeaders });
    onHeaders();
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
    const endSettling = tracker.beginSettling();
    try {
      const isLost = await this.#isLost(claim, settlement, heldSince);
      this.#report({ claim, attempted, settlement, started, isLost });
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

  /** What takes long, be it the host's settings or the receiver, does not keep others from beginning (D75). */
  #waitWhenLate(slot: Slot): () => void {
    const { clock, patienceMs, onWaiting } = this.#parts;
    const wait = (): void => {
      if (slot.wait()) onWaiting();
    };
    return clock.startTimer(patienceMs, wait, 'let-end');
  }

  /** Settles the claim. Tells whether its messages are another's by now. */
  async #isLost(claim: Claim, { results, state }: Settlement, heldSince: number): Promise<boolean> {
    const { queue, clock, leaseMs } = this.#parts;
    let calls = 0;
    const answer = await this.#tell('settle', () => {
      calls += 1;
      return queue.settle(claim, results, state);
    });
    // Before its lease is over a claim is lost to nobody but a call of ours whose answer was lost.
    const isOurs = calls > 1 && clock.monotonicMs() - heldSince < leaseMs;
    return answer === undefined || (answer === 'lost' && !isOurs);
  }

  /** Nothing was sent: the destination's turn comes again later (D72). */
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
    await this.#tell('release', () => queue.release(claim, update));
  }

  /** Again until the lease is over: then the messages are due again by themselves (law 3). */
  async #tell<T>(operation: QueueOperation, call: () => Promise<T>): Promise<T | undefined> {
    const { clock, random, observe, leaseMs, signal } = this.#parts;
    const startedAt = clock.monotonicMs();
    for (let failures = 0; ; failures += 1) {
      try {
        return await call();
      } catch (error) {
        const delayMs = SETTLE_DELAYS_MS[failures] ?? SETTLE_DELAYS_MS.at(-1) ?? 0;
        const retryInMs = jittered(delayMs, random);
        observe('queue-failed', () => ({ operation, retryInMs, ...errorCodeOf(error) }));
        // Once the sender is being closed a queue that fails must not hold it up (D79).
        const isOver = clock.monotonicMs() - startedAt + retryInMs > leaseMs;
        if (isOver || signal.aborted) return undefined;
        await clock.idle(retryInMs, signal);
      }
    }
  }

  #report(report: Report): void {
    const { claim, attempted, settlement, started, isLost } = report;
    const { observe, lastFailures } = this.#parts;
    const { result, retryAfterMs } = attempted;
    const { applicationId } = claim;
    const { outcome } = settlement;
    const { reusedConnection } = result;
    observe('attempt-settled', () => ({
      ...started,
      outcome,
      ...lastAttemptOf(result),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      timings: result.timings,
      ...(reusedConnection === undefined ? {} : { reusedConnection }),
    }));
    if (outcome === 'delivered') lastFailures.succeeded(applicationId);
    else if (outcome !== 'aborted') {
      lastFailures.failed({ applicationId, ...attemptEnd(result) });
    }
    // What another process has settled meanwhile is that process's to tell.
    if (isLost) return;
    for (const change of settlement.changes) this.#reportChange(change, report);
    const { messages } = claim;
    const { results } = settlement;
    for (let index = 0; index < messages.length; index += 1) {
      this.#settled(report, messages[index] as ClaimedMessage, results[index] as MessageResult);
    }
  }

  #reportChange(change: BreakerChange, { claim, attempted, settlement }: Report): void {
    const { observe } = this.#parts;
    const { applicationId, messages } = claim;
    const { pauseMs: waitMs, circuitBreaker } = settlement.state;
    const failing = () => {
      const { failures } = circuitBreaker as CircuitBreaker;
      const oldestMs = Math.max(...messages.map(({ ageMs }) => ageMs));
      const ageMs = oldestMs + attempted.now - claim.nowMs;
      return { applicationId, failures, ageMs };
    };
    if (change === 'opened') {
      const last = lastAttemptOf(attempted.result);
      observe('destination-opened', () => ({ waitMs, ...failing(), ...last }));
    } else if (change === 'closed') observe('destination-closed', failing);
    else if (change === 'paused') observe('destination-paused', () => ({ applicationId, waitMs }));
    else observe('destination-recovered', () => ({ applicationId }));
    if (change === 'closed') this.#parts.onClosed(applicationId);
  }

  #settled({ claim, attempted }: Report, message: ClaimedMessage, result: MessageResult): void {
    const { tracker, observe } = this.#parts;
    const { sequence, stored, sends, ageMs } = message;
    if (result.kind === 'delivered') tracker.settled(sequence, 'delivered');
    if (result.kind !== 'dead') return;
    const { reason } = result;
    tracker.settled(sequence, 'dead', reason);
    const { applicationId } = claim;
    observe('dead', () => {
      const { content } = new KeptMessage({ applicationId, stored, sends });
      return {
        applicationId,
        message_id: stored.messageId,
        message_type: (content['message_type'] ?? content['svc_payload_type']) as string,
        reason,
        attempts: sends + 1,
        ageMs: ageMs + attempted.now - claim.nowMs,
        ...lastAttemptOf(attempted.result),
      };
    });
  }
}

interface Attempt {
  readonly claim: Claim;
  readonly destination: Destination;
  readonly slot: Slot;
  readonly startedAt: number;
  readonly heldSince: number;
}

interface Report {
  readonly claim: Claim;
  readonly attempted: Attempted;
  readonly settlement: Settlement;
  readonly started: DeliveryEvents['attempt-started'];
  readonly isLost: boolean;
}
