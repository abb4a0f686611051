/**
 * A call of `sendWebhook` or `sendTest`: makes one request after the other, and decides about retries like a sender. It
 * uses no memory queue, which copies the messages: with one, a call with 100,000 messages took a third longer.
 */
import type { Json } from '../queue/queue.ts';
import { debugEvent } from '../runtime/diagnostics.ts';
import { Heap } from '../runtime/heap.ts';
import { missingPackage } from '../runtime/optional-import.ts';
import type { Random } from '../runtime/random.ts';
import type { AcceptedEntry } from '../webhook/accept.ts';
import { BRACKET_BYTES } from '../webhook/encoder.ts';
import { nextTime } from '../webhook/retry.ts';
import { type AttemptParts, encodeAndSign, retryAfterOf } from './attempt.ts';
import { type CircuitBreaker, limitsOf, newCircuitBreaker } from './circuit-breaker.ts';
import type { Endpoint } from './destination.ts';
import {
  type AttemptEnd,
  attemptEnd,
  type RequestReport,
  type SendReport,
  type UndeliveredMessage,
  type UndeliveredReason,
} from './report.ts';
import { DEFAULT_POLICY, type DeliveryPolicy } from './retry-policy.ts';
import { settlementOf, type Verdict } from './settlement.ts';

export interface DirectCall extends AttemptParts {
  readonly destination: Endpoint;
  readonly entries: readonly AcceptedEntry[];
  readonly policy: DeliveryPolicy;
  readonly random: Random;
}

/** Returns the policy of a call: no circuit breaker opens, and 410 does not close the destination. */
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
export async function sendDirectly(call: DirectCall): Promise<SendReport> {
  const sending = new DirectSending(call);
  await sending.run();
  return sending.report();
}

/** Messages of one application with the same history, in order. Requests take messages from its front. */
interface Batch {
  readonly entries: readonly AcceptedEntry[];
  /** Index of the first entry that is left. */
  readonly from: number;
  /** On the monotonic clock. */
  readonly dueMs: number;
  /** Number of requests that its messages were in. */
  readonly sends: number;
  /** Maximum number of messages in a request; `undefined`: the limit of the destination. */
  readonly maxMessages: number | undefined;
  readonly retryState: Json | null;
  /** How the last attempt ended; empty before the first. */
  readonly end: AttemptEnd;
}

/** The batches of an application, and its turn among applications that are due at the same time. */
interface ApplicationBatches {
  /** By due time, then in the order of the call. */
  readonly batches: Batch[];
  turn: number;
}

interface WhyUndelivered {
  readonly reason: UndeliveredReason;
  readonly waitMs: number | undefined;
}

class DirectSending {
  readonly #call: DirectCall;
  readonly #waiting = new Heap<ApplicationBatches>(isBefore);
  readonly #undelivered: UndeliveredMessage[] = [];
  readonly #requests: RequestReport[] = [];
  readonly #startedAt: number;
  /** One for the call, since all applications have the same receiver. */
  #breaker: CircuitBreaker;
  /** Size of the smallest body that was too large. The learned limit grows, but not up to this again. */
  #refusedBytes = Number.POSITIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #turns = 0;

  constructor(call: DirectCall) {
    this.#call = call;
    this.#startedAt = call.clock.monotonicMs();
    this.#breaker = newCircuitBreaker('', call.policy);
    for (const entries of byApplication(call.entries)) {
      const history = { sends: 0, maxMessages: undefined, retryState: null, end: {} };
      this.#push({ batches: [{ entries, from: 0, dueMs: this.#startedAt, ...history }], turn: 0 });
    }
  }

  async run(): Promise<void> {
    const { clock, signal } = this.#call;
    for (let next = this.#waiting.first(); next !== undefined; next = this.#waiting.first()) {
      if (signal.aborted) break;
      // Compared again after the wait: a timer may fire a fraction early, and Retry-After is a minimum.
      const waitMs = Math.max(dueMs(next), this.#pausedUntil) - clock.monotonicMs();
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      else await this.#sendNext();
    }
    this.#giveUpAll({ reason: 'aborted', waitMs: undefined });
  }

  report(): SendReport {
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

  #push(next: ApplicationBatches): void {
    if (next.batches.length === 0) return;
    this.#turns += 1;
    next.turn = this.#turns;
    this.#waiting.push(next);
  }

  /** Sends one request of the next application, whose next turn comes after the others'. */
  async #sendNext(): Promise<void> {
    const next = this.#waiting.shift() as ApplicationBatches;
    const batch = next.batches.shift() as Batch;
    const entries = this.#takeFront(batch);
    const rest = { ...batch, from: batch.from + entries.length };
    if (rest.from < rest.entries.length) next.batches.unshift(rest);
    const { settlement, end, retryAfterMs } = await this.#attempt(entries, batch);
    this.#breaker = settlement.state.circuitBreaker as CircuitBreaker;
    const sent = { ...batch, entries, from: 0, sends: batch.sends + 1, end };
    this.#retryOrGiveUp(sent, settlement.results[0] as Verdict, next);
    this.#push(next);
    if (settlement.outcome === 'pause' && retryAfterMs !== undefined) this.#pause(retryAfterMs);
  }

  /** Returns the entries of the next request: as many as it may have, at least one. */
  #takeFront({ entries, from, maxMessages = Number.POSITIVE_INFINITY }: Batch): AcceptedEntry[] {
    const limits = limitsOf(this.#breaker, this.#call.policy);
    const maxBytes = Math.min(limits.maxBytes, this.#refusedBytes - BRACKET_BYTES - 1);
    const most = Math.min(entries.length, from + Math.min(maxMessages, limits.maxMessages));
    let to = from + 1;
    let bytes = (entries[from] as AcceptedEntry).sizeBytes;
    for (; to < most; to += 1) {
      bytes += (entries[to] as AcceptedEntry).sizeBytes;
      if (bytes > maxBytes) break;
    }
    return entries.slice(from, to);
  }

  async #attempt(entries: readonly AcceptedEntry[], { sends, retryState }: Batch) {
    const { clock, destination, policy, poster, random } = this.#call;
    const claimedAtMs = clock.monotonicMs();
    const history = { ageMs: claimedAtMs - this.#startedAt, retryState };
    const outgoing = entries.map(({ stored }) => ({ stored, retryCount: sends }));
    const { url, secret, tls } = destination;
    const { body, headers } = encodeAndSign(outgoing, secret, this.#call);
    const result = await poster.post({ url, body, headers, tls });
    const retryAfterMs = retryAfterOf(result, clock.now());
    if (result.kind === 'failure' && result.code === 'undici-missing') {
      // A retry cannot succeed: the deployment lacks undici.
      throw missingPackage('undici@7', new Error(result.detail));
    }
    const attempted = {
      messages: entries.map(() => history),
      claimedAtMs,
      breaker: this.#breaker,
      result,
      bodyBytes: body.length,
      retryAfterMs,
      now: clock.monotonicMs(),
    };
    const settlement = settlementOf(attempted, policy, random);
    if (settlement.outcome === 'smaller') {
      this.#refusedBytes = Math.min(this.#refusedBytes, body.length);
    }
    const end = attemptEnd(result);
    const report: RequestReport = {
      ...end,
      outcome: settlement.outcome === 'aborted' ? 'later' : settlement.outcome,
      message_ids: entries.map(({ stored }) => stored.messageId),
      retry_count: sends,
      bytes: body.length,
      durationMs: result.timings.totalMs,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
    this.#requests.push(report);
    debugEvent('sendWebhook', report);
    return { settlement, end, retryAfterMs };
  }

  #retryOrGiveUp(sent: Batch, result: Verdict, { batches }: ApplicationBatches): void {
    if (result.kind === 'dead') this.#giveUp(sent, result.gaveUp as WhyUndelivered);
    if (result.kind !== 'retry') return;
    const { afterMs, maxMessages, retryState } = result;
    // Without a wait the due time stays, as in the queues.
    const dueMs = afterMs === 0 ? sent.dueMs : this.#call.clock.monotonicMs() + afterMs;
    const retry = { ...sent, dueMs, maxMessages, retryState };
    const place = batches.findIndex((batch) => isEarlier(retry, batch));
    batches.splice(place === -1 ? batches.length : place, 0, retry);
  }

  /** Pauses the call as the receiver asked, or gives up if that exceeds the schedule (D71, D72). */
  #pause(waitMs: number): void {
    const { clock, policy, random } = this.#call;
    const wait = { waitMs, acceptedAt: this.#startedAt, now: clock.monotonicMs() };
    const next = nextTime(policy.schedule, wait, random);
    if (next.kind === 'dead') this.#giveUpAll({ reason: next.reason, waitMs });
    else this.#pausedUntil = next.at;
  }

  #giveUpAll(why: WhyUndelivered): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      for (const batch of next.batches) this.#giveUp(batch, why);
    }
  }

  #giveUp({ entries, from, end }: Batch, { reason, waitMs }: WhyUndelivered): void {
    const why = { reason, ...end, ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }) };
    for (const { index, stored } of entries.slice(from)) {
      this.#undelivered.push({ index, message_id: stored.messageId, ...why });
    }
  }
}

const firstOf = ({ entries, from }: Batch): AcceptedEntry => entries[from] as AcceptedEntry;

const isEarlier = (a: Batch, b: Batch): boolean =>
  a.dueMs === b.dueMs ? firstOf(a).index < firstOf(b).index : a.dueMs < b.dueMs;

const dueMs = ({ batches }: ApplicationBatches): number => (batches[0] as Batch).dueMs;

const isBefore = (a: ApplicationBatches, b: ApplicationBatches): boolean =>
  dueMs(a) === dueMs(b) ? a.turn < b.turn : dueMs(a) < dueMs(b);

function byApplication(entries: readonly AcceptedEntry[]): Iterable<readonly AcceptedEntry[]> {
  const found = new Map<string, AcceptedEntry[]>();
  for (const entry of entries) {
    const known = found.get(entry.applicationId);
    if (known === undefined) found.set(entry.applicationId, [entry]);
    else known.push(entry);
  }
  return found.values();
}
