/** A call of `sendWebhook`: delivers from a queue of its own, one request after the other, by the rules of a sender. */
import { SecurityEventError } from '../errors.ts';
import { MAX_TIMER_MS } from '../option-rules.ts';
import { createMemoryQueue } from '../queue/memory.ts';
import type { Claim, MessageQueue } from '../queue/queue.ts';
import type { Random } from '../runtime/random.ts';
import type { AcceptedEntry } from '../webhook/accept.ts';
import { nextTime } from '../webhook/retry.ts';
import { encodeAndSign, retryAfterOf, type Sending } from './attempt.ts';
import {
  type CircuitBreaker,
  initialState,
  newCircuitBreaker,
  updateOf,
} from './circuit-breaker.ts';
import type { Endpoint } from './destination.ts';
import { debugEvent } from './events.ts';
import {
  type AttemptEnd,
  attemptEnd,
  type RequestReport,
  type SendReport,
  type UndeliveredMessage,
  type UndeliveredReason,
} from './report.ts';
import { DEFAULT_POLICY, type DeliveryPolicy } from './retry-policy.ts';
import { isClaim } from './scheduler.ts';
import { type Settlement, settlementOf, type Verdict } from './settlement.ts';

export interface DirectCall extends Sending {
  readonly destination: Endpoint;
  readonly entries: readonly AcceptedEntry[];
  readonly policy: DeliveryPolicy;
  readonly random: Random;
}

/** Returns the policy of a call that ends: without probes, and without closing the destination at 410. */
export function directPolicy({
  schedule,
  maxBodyBytes,
  maxMessages,
}: Pick<DeliveryPolicy, 'schedule' | 'maxBodyBytes' | 'maxMessages'>): DeliveryPolicy {
  return {
    ...DEFAULT_POLICY,
    schedule,
    maxBodyBytes,
    maxMessages,
    cautiousMaxMessages: maxMessages,
    openAfterFailures: Number.POSITIVE_INFINITY,
    goneConfirmMs: Number.POSITIVE_INFINITY,
  };
}

/** Sends one request at a time, until nothing is left or the signal is aborted. */
export const sendDirectly = (call: DirectCall): Promise<SendReport> =>
  new DirectSending(call).run();

const MAX = Number.MAX_SAFE_INTEGER;
/** Bounds would save nothing: the caller holds the messages in memory already. */
const NO_BOUNDS = { maxPendingMessages: MAX, maxPendingBytes: MAX, maxDeadBytes: 0 };

interface GivenUp {
  readonly reason: UndeliveredReason;
  readonly waitMs?: number | undefined;
}

/** A message of the call, and how its last attempt ended; empty before the first. */
interface PendingMessage {
  readonly entry: AcceptedEntry;
  readonly end: AttemptEnd;
}

class DirectSending {
  readonly #call: DirectCall;
  readonly #queue: MessageQueue;
  readonly #startedAt: number;
  /** Messages that are neither delivered nor given up, by their sequence in the queue. */
  readonly #pending = new Map<number, PendingMessage>();
  readonly #undelivered: UndeliveredMessage[] = [];
  readonly #requests: RequestReport[] = [];
  /** One for the call, since all applications have the same receiver. */
  #breaker: CircuitBreaker;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(call: DirectCall) {
    this.#call = call;
    this.#queue = createMemoryQueue(NO_BOUNDS, call.clock);
    this.#startedAt = call.clock.monotonicMs();
    this.#breaker = newCircuitBreaker('', call.policy);
  }

  async run(): Promise<SendReport> {
    const { clock, entries, policy, signal } = this.#call;
    await this.#queue.open(initialState(policy));
    const { sequences } = await this.#queue.enqueue(entries);
    for (const [at, sequence] of sequences.entries()) {
      this.#pending.set(sequence, { entry: entries[at] as AcceptedEntry, end: {} });
    }
    while (this.#pending.size > 0 && !signal.aborted) {
      // Compared again after the wait: a timer may fire a fraction early, and Retry-After is a minimum.
      const pausedMs = this.#pausedUntil - clock.monotonicMs();
      const waitMs = pausedMs > 0 ? pausedMs : await this.#sendNext();
      // The queue rounds up, and a longer timer would end at once.
      if (waitMs > 0) await clock.sleep(Math.min(waitMs, MAX_TIMER_MS), signal);
    }
    this.#giveUp([...this.#pending.keys()], { reason: 'aborted' });
    return this.#report();
  }

  #report(): SendReport {
    const undelivered = this.#undelivered.toSorted((a, b) => a.index - b.index);
    const lost = new Set(undelivered.map(({ index }) => index));
    const delivered = this.#call.entries.filter(({ index }) => !lost.has(index));
    return {
      ok: undelivered.length === 0,
      delivered: delivered.map(({ stored }) => stored.messageId),
      undelivered,
      requests: this.#requests,
    };
  }

  /** Sends the next request. Returns the time until a message is due, in ms; 0 if a request was sent. */
  async #sendNext(): Promise<number> {
    const { maxMessages, maxBytes } = updateOf(
      { breaker: this.#breaker, pauseMs: 0, changes: [] },
      this.#call.policy,
    );
    const claim = await this.#queue.claim({
      ofHealth: ['untried'],
      maxMessages,
      maxBytes,
      leaseMs: Number.POSITIVE_INFINITY,
    });
    // A pending message that is not claimed has a due time.
    if (!isClaim(claim)) return claim.dueInMs as number;
    const { settlement, end, retryAfterMs } = await this.#attempt(claim);
    this.#breaker = settlement.state.circuitBreaker as CircuitBreaker;
    await this.#settle(claim, settlement.results, end);
    if (settlement.outcome === 'pause' && retryAfterMs !== undefined) this.#pause(retryAfterMs);
    return 0;
  }

  async #attempt(claim: Claim): Promise<Attempt> {
    const { clock, destination, policy, poster, random } = this.#call;
    const { url, secret, tls } = destination;
    const { body, headers, maxRetryCount } = encodeAndSign(claim.messages, secret, this.#call);
    const result = await poster.post({ url, body, headers, tls });
    const retryAfterMs = retryAfterOf(result, clock.now());
    if (result.kind === 'failure' && result.code === 'undici-missing') {
      // A retry cannot succeed: the deployment lacks undici.
      throw new SecurityEventError('ERR_PEER_MISSING', { detail: result.detail });
    }
    const attempted = {
      messages: claim.messages,
      claimedAtMs: claim.nowMs,
      breaker: this.#breaker,
      result,
      bodyBytes: body.length,
      retryAfterMs,
      now: clock.monotonicMs(),
    };
    const settlement = settlementOf(attempted, policy, random);
    const end = attemptEnd(result);
    const report: RequestReport = {
      ...end,
      outcome: settlement.outcome === 'aborted' ? 'later' : settlement.outcome,
      message_ids: claim.messages.map(({ stored }) => stored.messageId),
      retry_count: maxRetryCount,
      bytes: body.length,
      durationMs: result.timings.totalMs,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
    this.#requests.push(report);
    debugEvent('sendWebhook', report);
    return { settlement, end, retryAfterMs };
  }

  async #settle(claim: Claim, results: readonly Verdict[], end: AttemptEnd): Promise<void> {
    for (const [at, { sequence }] of claim.messages.entries()) {
      const result = results[at] as Verdict;
      const { entry } = this.#pending.get(sequence) as PendingMessage;
      this.#pending.set(sequence, { entry, end });
      if (result.kind === 'dead') this.#giveUp([sequence], result.gaveUp as GivenUp);
      if (result.kind === 'delivered') this.#pending.delete(sequence);
    }
    // Applications keep their first state: the breaker of the call limits requests, and only Retry-After pauses it.
    await this.#queue.settle(claim, results, { ...claim.state, pauseMs: 0 });
  }

  /** Pauses the call as the receiver asked, or gives up if that exceeds the schedule (D71, D72). */
  #pause(waitMs: number): void {
    const { clock, policy, random } = this.#call;
    const wait = { waitMs, acceptedAt: this.#startedAt, now: clock.monotonicMs() };
    const next = nextTime(policy.schedule, wait, random);
    if (next.kind === 'retry') this.#pausedUntil = next.at;
    else this.#giveUp([...this.#pending.keys()], { reason: next.reason, waitMs });
  }

  #giveUp(sequences: readonly number[], { reason, waitMs }: GivenUp): void {
    const wait = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    for (const sequence of sequences) {
      const { entry, end } = this.#pending.get(sequence) as PendingMessage;
      const { index, stored } = entry;
      this.#undelivered.push({ index, message_id: stored.messageId, reason, ...end, ...wait });
      this.#pending.delete(sequence);
    }
  }
}

interface Attempt {
  readonly settlement: Settlement;
  readonly end: AttemptEnd;
  /** The wait that the receiver asked for. */
  readonly retryAfterMs: number | undefined;
}
