/** Settles, releases and extends claims. Retries failed calls until the lease has expired. */
import { isDeepStrictEqual } from 'node:util';
import type { ApplicationUpdate, Claim, MessageQueue } from '../queue/queue.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { jittered } from '../webhook/retry.ts';
import { errorCodeOf, type Observe, type QueueOperation } from './events.ts';
import type { Settlement } from './settlement.ts';

export interface ClaimCallParts {
  readonly queue: MessageQueue;
  /** Duration of a lease until it is extended. */
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly observe: Observe;
  /** Ends the retries: a failing queue must not delay `close` (D79). */
  readonly signal: AbortSignal;
}

/** The lease of a claim. */
export interface Lease {
  /** When the claim was requested, or its extension, on the monotonic clock. */
  readonly sinceMs: number;
  readonly leaseMs: number;
}

interface QueueCall<T> {
  readonly operation: QueueOperation;
  readonly run: () => Promise<T>;
  /** Duration of the claim's lease: for so long a failed call is retried. */
  readonly leaseMs: number;
}

/** Waits between calls while the queue fails, in ms. */
const DELAYS_MS = [100, 500, 2000] as const;

/** The longest: messages are delivered again within 5 s after a failover. */
const MAX_DELAY_MS = 3000;

/** Returns the wait after so many earlier failures in a row, in ms. */
export const queueRetryMs = (failures: number, random: Random): number =>
  jittered(DELAYS_MS[failures] ?? MAX_DELAY_MS, random);

interface FailedSettlement extends Pick<Settlement, 'state'> {
  /** Those of the delivered and dead messages. */
  readonly sequences: readonly number[];
  readonly leaseMs: number;
}

export class ClaimCalls {
  readonly #parts: ClaimCallParts;
  /** Sequences of delivered or dead messages whose `settle` call failed. The queue may still have settled them. */
  readonly #maybeSettled = new Set<number>();

  constructor(parts: ClaimCallParts) {
    this.#parts = parts;
  }

  /** Must be called for each new claim, which shows that the queue had not settled its messages. */
  recordClaim({ messages }: Claim): void {
    if (this.#maybeSettled.size === 0) return;
    for (const { sequence } of messages) this.#maybeSettled.delete(sequence);
  }

  /** Extends a lease to `newLeaseMs` from now. Resolves to the new lease, or to `undefined` if the claim is lost. */
  async extend(claim: Claim, newLeaseMs: number): Promise<Lease | undefined> {
    const { queue, clock, leaseMs } = this.#parts;
    const sinceMs = clock.monotonicMs();
    const run = () => queue.extend(claim, newLeaseMs);
    const answer = await this.#call({ operation: 'extend', run, leaseMs });
    return answer === 'extended' ? { sinceMs, leaseMs: newLeaseMs } : undefined;
  }

  async release(claim: Claim, state?: ApplicationUpdate): Promise<void> {
    const { queue, leaseMs } = this.#parts;
    const run = () => queue.release(claim, state);
    await this.#call({ operation: 'release', run, leaseMs });
  }

  /** Resolves to whether the claim was settled. Otherwise the messages may be sent again. */
  async settle(
    claim: Claim,
    { results, state }: Pick<Settlement, 'results' | 'state'>,
    { sinceMs, leaseMs }: Lease,
  ): Promise<boolean> {
    const { queue, clock } = this.#parts;
    const run = () => queue.settle(claim, results, state);
    try {
      return (await run()) === 'settled';
    } catch (error) {
      const settled = claim.messages.filter((_, index) => results[index]?.kind !== 'retry');
      const sequences = settled.map(({ sequence }) => sequence);
      for (const sequence of sequences) this.#maybeSettled.add(sequence);
      const answer = await this.#callAgain({ operation: 'settle', run, leaseMs }, error);
      const isWithinLease = clock.monotonicMs() - sinceMs < leaseMs;
      const failed = { state, sequences, leaseMs };
      const isSettled =
        answer === 'settled' ||
        (answer === 'lost' && isWithinLease && (await this.#wereSettled(claim, failed)));
      for (const sequence of sequences) this.#maybeSettled.delete(sequence);
      return isSettled;
    }
  }

  /**
   * Resolves to whether an earlier `settle` call worked, and only its answer was lost. After a failover the queue may have
   * lost the claim instead: then its messages still wait, or were claimed again.
   */
  async #wereSettled(
    claim: Claim,
    { state, sequences, leaseMs }: FailedSettlement,
  ): Promise<boolean> {
    if (sequences.length === 0) return this.#isStateWritten(claim, state);
    const { queue } = this.#parts;
    const ranges = sequences.toSorted((a, b) => a - b).map((one) => ({ from: one, to: one }));
    const run = () => queue.countPending(ranges);
    const pending = await this.#call({ operation: 'count', run, leaseMs });
    return pending === 0 && sequences.every((sequence) => this.#maybeSettled.has(sequence));
  }

  /** For a claim whose messages all wait again: only the application's state shows whether it was settled. */
  async #isStateWritten(claim: Claim, { circuitBreaker }: ApplicationUpdate): Promise<boolean> {
    if (isDeepStrictEqual(claim.state.circuitBreaker, circuitBreaker)) return false;
    const { queue } = this.#parts;
    const found = await queue.applicationState(claim.applicationId).catch(() => undefined);
    return isDeepStrictEqual(found?.circuitBreaker, circuitBreaker);
  }

  async #call<T>(call: QueueCall<T>): Promise<T | undefined> {
    try {
      return await call.run();
    } catch (error) {
      return await this.#callAgain(call, error);
    }
  }

  /**
   * Retries a failed call until the lease has expired: then the messages are due again anyway (law 3 in
   * queue/queue.ts).
   */
  async #callAgain<T>(
    { operation, run, leaseMs }: QueueCall<T>,
    firstError: unknown,
  ): Promise<T | undefined> {
    const { clock, random, observe, signal } = this.#parts;
    const startedAt = clock.monotonicMs();
    let error = firstError;
    for (let failures = 0; ; failures += 1) {
      const retryInMs = queueRetryMs(failures, random);
      const isOver = signal.aborted || clock.monotonicMs() - startedAt + retryInMs > leaseMs;
      const failure = { operation, ...(isOver ? {} : { retryInMs }), ...errorCodeOf(error) };
      observe('queue-failed', () => failure);
      if (isOver) return undefined;
      await clock.sleepUnref(retryInMs, signal);
      try {
        return await run();
      } catch (again) {
        error = again;
      }
    }
  }
}
