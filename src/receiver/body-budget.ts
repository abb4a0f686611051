/**
 * Limits the memory of bodies that are being read. Their signatures are not verified yet, so anyone can
 * send them, on any number of connections.
 */
import type { Clock } from '../runtime/clock.ts';
import type { RefusalReason } from './refusals.ts';

/** One body while it is read. An adapter reports the bytes that come in, and drops them if refused. */
export interface BodyReading {
  /** Returns false if the body is refused: `readBody` then resolves to undefined. */
  take(bytes: number): boolean;
  /** Calls `listener` when the body is refused, also between two calls of `take`. */
  onRefused(listener: () => void): void;
}

export interface BodyBudgetLimits {
  /** Bytes of all bodies together. */
  readonly maxBytes: number;
  /** Time for one body, in milliseconds. */
  readonly timeoutMs: number;
}

export class BodyBudget {
  readonly #limits: BodyBudgetLimits;
  readonly #clock: Clock;
  #bytes = 0;
  /** Oldest first. All have the same timeout, so the first is the next to time out. */
  readonly #open = new Set<CountedReading>();
  /** Ordered by first byte. */
  readonly #withBytes = new Set<CountedReading>();
  #isWatching = false;

  constructor(limits: BodyBudgetLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  open(maxBodyBytes: number): CountedReading {
    const { timeoutMs } = this.#limits;
    const deadlineMs = this.#clock.monotonicMs() + timeoutMs;
    const reading = new CountedReading(this, maxBodyBytes, deadlineMs);
    this.#open.add(reading);
    this.#watch(timeoutMs);
    return reading;
  }

  /** One timer for all bodies: a timer for each request would cost as much as its verification. */
  #watch(ms: number): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#clock.idle(ms).then(() => {
      this.#isWatching = false;
      const now = this.#clock.monotonicMs();
      for (const first of this.#open) {
        if (first.deadlineMs > now) return this.#watch(first.deadlineMs - now);
        first.refuse('body-late');
      }
    });
  }

  /**
   * Counts bytes of a body. Above the limit it refuses the oldest bodies, so that senders which hold back
   * their last bytes cannot block others.
   */
  add(reading: CountedReading, bytes: number): void {
    this.#withBytes.add(reading);
    this.#bytes += bytes;
    for (const oldest of this.#withBytes) {
      if (this.#bytes <= this.#limits.maxBytes) return;
      oldest.refuse('busy');
    }
  }

  remove(reading: CountedReading, bytes: number): void {
    this.#open.delete(reading);
    if (this.#withBytes.delete(reading)) this.#bytes -= bytes;
  }
}

export class CountedReading implements BodyReading {
  readonly #budget: BodyBudget;
  readonly #maxBytes: number;
  readonly deadlineMs: number;
  #bytes = 0;
  #isEnded = false;
  #refusal: RefusalReason | undefined;
  #drop: (() => void) | undefined;

  constructor(budget: BodyBudget, maxBytes: number, deadlineMs: number) {
    this.#budget = budget;
    this.#maxBytes = maxBytes;
    this.deadlineMs = deadlineMs;
  }

  get refusal(): RefusalReason | undefined {
    return this.#refusal;
  }

  take(bytes: number): boolean {
    if (this.#isEnded) return false;
    if (this.#bytes + bytes > this.#maxBytes) {
      this.refuse('body-too-large');
      return false;
    }
    this.#bytes += bytes;
    this.#budget.add(this, bytes);
    return !this.#isEnded;
  }

  onRefused(listener: () => void): void {
    this.#drop = listener;
  }

  /** Does nothing after the end. */
  refuse(reason: RefusalReason): void {
    if (this.#isEnded) return;
    this.#refusal = reason;
    this.end();
    this.#drop?.();
  }

  /** Releases its bytes, after the body was read or dropped. */
  end(): void {
    this.#isEnded = true;
    this.#budget.remove(this, this.#bytes);
  }
}
