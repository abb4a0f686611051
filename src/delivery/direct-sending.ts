/** One call of `sendWebhook`: the parts of the sender, over a queue of its own that ends with the call. */

import { SecurityEventError } from '../errors.ts';
import { createMemoryQueue } from '../queue/memory.ts';
import type { Claim, ClaimedMessage, MessageQueue } from '../queue/queue.ts';
import type { Random } from '../runtime/random.ts';
import type { AcceptedEntry } from '../webhook/accept.ts';
import { nextTime } from '../webhook/retry.ts';
import { encodeClaim, postBody, type Sending, type Target } from './attempt.ts';
import {
  type CircuitBreaker,
  initialState,
  newCircuitBreaker,
  updateOf,
} from './circuit-breaker.ts';
import { debugEvent } from './observe.ts';
import {
  type AttemptEnd,
  attemptEnd,
  type DeliveredMessage,
  type RequestReport,
  reportOf,
  type SendReport,
  type UndeliveredMessage,
  type UndeliveredReason,
} from './report.ts';
import { DEFAULT_POLICY, type DeliveryPolicy } from './retry-policy.ts';
import { isClaim } from './scheduler.ts';
import { type Settlement, settle } from './settlement.ts';
import type { GaveUp } from './verdicts.ts';

export interface DirectCall extends Sending {
  readonly destination: Target;
  readonly entries: readonly AcceptedEntry[];
  readonly policy: DeliveryPolicy;
  readonly random: Random;
}

/** The policy of a sender that has one destination and an end: it neither stops for probes nor closes. */
export function directPolicy(
  given: Pick<DeliveryPolicy, 'schedule' | 'maxBodyBytes' | 'maxMessages'>,
): DeliveryPolicy {
  return {
    ...DEFAULT_POLICY,
    ...given,
    cautiousMaxMessages: given.maxMessages,
    openAfterFailures: Number.POSITIVE_INFINITY,
    goneConfirmMs: Number.POSITIVE_INFINITY,
  };
}

/** Sends one request at a time, until nothing is left or the signal is aborted. */
export async function sendDirectly(call: DirectCall): Promise<SendReport> {
  const sending = new DirectSending(call);
  await sending.run();
  return sending.report();
}

/** Longer than any attempt. */
const LEASE_MS = Number.MAX_SAFE_INTEGER;

const UNBOUNDED = {
  maxPendingBytes: Number.MAX_SAFE_INTEGER,
  maxPendingMessages: Number.MAX_SAFE_INTEGER,
  maxDeadBytes: 0,
};

interface GiveUp {
  readonly reason: UndeliveredReason;
  readonly waitMs: number | undefined;
}

/** A message that is neither delivered nor given up. */
interface Pending {
  readonly index: number;
  readonly message_id: string;
  /** How its last attempt ended; empty before the first. */
  end: AttemptEnd;
}

class DirectSending {
  readonly #call: DirectCall;
  readonly #queue: MessageQueue;
  readonly #pending = new Map<number, Pending>();
  readonly #delivered: DeliveredMessage[] = [];
  readonly #undelivered: UndeliveredMessage[] = [];
  readonly #requests: RequestReport[] = [];
  readonly #startedAt: number;
  /** One for the call: applications share the receiver, and what it refuses. */
  #breaker: CircuitBreaker;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(call: DirectCall) {
    this.#call = call;
    this.#queue = createMemoryQueue(UNBOUNDED, call.clock);
    this.#startedAt = call.clock.monotonicMs();
    this.#breaker = newCircuitBreaker('', call.policy);
  }

  async run(): Promise<void> {
    const { clock, signal } = this.#call;
    await this.#enqueue();
    while (!signal.aborted && this.#pending.size > 0) {
      const pauseMs = this.#pausedUntil - clock.monotonicMs();
      if (pauseMs > 0) await clock.sleep(pauseMs, signal);
      else await this.#sendNext();
    }
    this.#giveUpRest({ reason: 'aborted', waitMs: undefined });
  }

  report(): SendReport {
    const [delivered, undelivered] = [this.#delivered, this.#undelivered];
    return reportOf({ delivered, undelivered, requests: this.#requests });
  }

  async #enqueue(): Promise<void> {
    const { entries, policy } = this.#call;
    await this.#queue.open(initialState(policy));
    const { sequences } = await this.#queue.enqueue(entries);
    for (const [at, { index, stored }] of entries.entries()) {
      this.#pending.set(sequences[at] as number, { index, message_id: stored.messageId, end: {} });
    }
  }

  async #sendNext(): Promise<void> {
    const { clock, signal, policy } = this.#call;
    const step = { breaker: this.#breaker, pauseMs: 0, changes: [] };
    const { maxMessages, maxBytes } = updateOf(step, policy);
    const limits = { maxMessages, maxBytes, leaseMs: LEASE_MS };
    const claim = await this.#queue.claim({ tiers: ['healthy', 'failing'], ...limits });
    if (isClaim(claim)) await this.#attempt(claim);
    else await clock.sleep(claim.dueInMs ?? 0, signal);
  }

  async #attempt(claim: Claim): Promise<void> {
    const { clock, destination, policy, random } = this.#call;
    const startedAt = clock.monotonicMs();
    const { body, maxRetryCount } = encodeClaim(claim, clock);
    const { result, retryAfterMs } = await postBody(body, destination, this.#call);
    if (result.kind === 'failure' && result.code === 'undici-missing') {
      // No retry mends a deployment.
      throw new SecurityEventError('ERR_PEER_MISSING', { detail: result.detail });
    }
    const now = claim.nowMs + (clock.monotonicMs() - startedAt);
    const bodyBytes = body.length;
    const breaker = this.#breaker;
    const settlement = settle(
      { claim, breaker, result, bodyBytes, retryAfterMs, now },
      policy,
      random,
    );
    this.#breaker = settlement.state.circuitBreaker as CircuitBreaker;
    // A pause is the whole call's, and ends at `maxWaitMs` or at the horizon.
    await this.#queue.settle(claim, settlement.results, { ...settlement.state, pauseMs: 0 });
    const end = attemptEnd(result);
    const { outcome } = settlement;
    const request: RequestReport = {
      ...end,
      outcome: outcome === 'aborted' ? 'later' : outcome,
      message_ids: claim.messages.map(({ stored }) => stored.messageId),
      retry_count: maxRetryCount,
      bytes: bodyBytes,
      durationMs: result.timings.totalMs,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
    this.#requests.push(request);
    debugEvent('sendWebhook', request);
    this.#record(claim.messages, settlement, end);
    if (outcome === 'pause' && retryAfterMs !== undefined) this.#pause(retryAfterMs);
  }

  #record(messages: readonly ClaimedMessage[], { results }: Settlement, end: AttemptEnd): void {
    for (const [at, { sequence }] of messages.entries()) {
      const pending = this.#pending.get(sequence) as Pending;
      const result = results[at];
      pending.end = end;
      if (result?.kind === 'retry') continue;
      this.#pending.delete(sequence);
      const { index, message_id } = pending;
      if (result?.kind === 'delivered') this.#delivered.push({ index, message_id });
      else this.#giveUp(pending, result?.gaveUp as GaveUp);
    }
  }

  /** Holds back everything, or gives it up if that would take too long (D71, D72). */
  #pause(waitMs: number): void {
    const { clock, policy, random } = this.#call;
    const wait = { waitMs, acceptedAt: this.#startedAt, now: clock.monotonicMs() };
    const next = nextTime(policy.schedule, wait, random);
    if (next.kind === 'dead') this.#giveUpRest({ reason: next.reason, waitMs });
    else this.#pausedUntil = next.at;
  }

  #giveUpRest(why: GiveUp): void {
    for (const pending of this.#pending.values()) this.#giveUp(pending, why);
    this.#pending.clear();
  }

  #giveUp({ index, message_id, end }: Pending, { reason, waitMs }: GiveUp): void {
    const wait = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    this.#undelivered.push({ index, message_id, reason, ...end, ...wait });
  }
}
