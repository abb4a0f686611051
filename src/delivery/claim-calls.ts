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
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly observe: Observe;
  /** Ends the retries: a failing queue must not delay `close` (D79). */
  readonly signal: AbortSignal;
}

/** Waits between calls while the queue fails, in ms. */
const DELAYS_MS = [100, 500, 2000, 5000] as const;
const MAX_DELAY_MS = 10_000;

export class ClaimCalls {
  readonly #parts: ClaimCallParts;
  /** Sequences of delivered or dead messages whose `settle` call failed. The queue may still have settled them. */
  readonly #maybeSettled = new Set<number>();

  constructor(parts: ClaimCallParts) {
    this.#parts = parts;
  }

  /** Must be called for each new claim: it shows that the queue had not settled its messages. */
  recordClaim({ messages }: Claim): void {
    if (this.#maybeSettled.size === 0) return;
    for (const { sequence } of messages) this.#maybeSettled.delete(sequence);
  }

  /** Resolves to whether the lease was extended. */
  async extend(claim: Claim, leaseMs: number): Promise<boolean> {
    const { queue } = this.#parts;
    return (await this.#call('extend', () => queue.extend(claim, leaseMs))) === 'extended';
  }

  async release(claim: Claim, state?: ApplicationUpdate): Promise<void> {
    const { queue } = this.#parts;
    await this.#call('release', () => queue.release(claim, state));
  }

  /** Resolves to whether the claim was settled. Otherwise the messages may be sent again. */
  async settle(
    claim: Claim,
    { results, state }: Pick<Settlement, 'results' | 'state'>,
    leasedSince: number,
  ): Promise<boolean> {
    const { queue, clock, leaseMs } = this.#parts;
    const settleOnce = () => queue.settle(claim, results, state);
    try {
      return (await settleOnce()) === 'settled';
    } catch (error) {
      const ended = claim.messages.filter((_, index) => results[index]?.kind !== 'retry');
      const sequences = ended.map(({ sequence }) => sequence);
      for (const sequence of sequences) this.#maybeSettled.add(sequence);
      const answer = await this.#callAgain('settle', settleOnce, error);
      const isWithinLease = clock.monotonicMs() - leasedSince < leaseMs;
      const isSettled =
        answer === 'settled' ||
        (answer === 'lost' && isWithinLease && (await this.#wereSettled(claim, state, sequences)));
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
    state: ApplicationUpdate,
    sequences: readonly number[],
  ): Promise<boolean> {
    if (sequences.length === 0) return this.#isStateWritten(claim, state);
    const { queue } = this.#parts;
    const ranges = sequences.toSorted((a, b) => a - b).map((one) => ({ from: one, to: one }));
    const pending = await this.#call('count', () => queue.countPending(ranges));
    return pending === 0 && sequences.every((sequence) => this.#maybeSettled.has(sequence));
  }

  /** For a claim whose messages all wait again: only the application's state shows whether it was settled. */
  async #isStateWritten(claim: Claim, { circuitBreaker }: ApplicationUpdate): Promise<boolean> {
    if (isDeepStrictEqual(claim.state.circuitBreaker, circuitBreaker)) return false;
    const { queue } = this.#parts;
    const found = await queue.applicationState(claim.applicationId).catch(() => undefined);
    return isDeepStrictEqual(found?.circuitBreaker, circuitBreaker);
  }

  async #call<T>(operation: QueueOperation, call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      return await this.#callAgain(operation, call, error);
    }
  }

  /** Retries a failed call until the lease has expired: then the messages are due again anyway (law 3 in queue/queue.ts). */
  async #callAgain<T>(
    operation: QueueOperation,
    call: () => Promise<T>,
    firstError: unknown,
  ): Promise<T | undefined> {
    const { clock, random, observe, leaseMs, signal } = this.#parts;
    const startedAt = clock.monotonicMs();
    let error = firstError;
    for (let failures = 0; ; failures += 1) {
      const retryInMs = jittered(DELAYS_MS[failures] ?? MAX_DELAY_MS, random);
      const code = errorCodeOf(error);
      observe('queue-failed', () => ({ operation, retryInMs, ...code }));
      const isOver = clock.monotonicMs() - startedAt + retryInMs > leaseMs;
      if (isOver || signal.aborted) return undefined;
      await clock.sleepUnref(retryInMs, signal);
      try {
        return await call();
      } catch (again) {
        error = again;
      }
    }
  }
}
