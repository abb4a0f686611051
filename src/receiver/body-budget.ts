/**
 * Bounds the memory of bodies that are being read. Their signatures are not verified yet, so anybody
 * may send them, on any number of connections.
 */
import type { RefusalReason } from './refusals.ts';

/** One body while it is read. An adapter reports the bytes that come in, and drops them if refused. */
export interface BodyReading {
  /** Returns false if the body is refused: `readBody` then resolves to undefined. */
  take(bytes: number): boolean;
  /** Calls `listener` when the body is refused, also between two calls of `take`. */
  onRefused(listener: () => void): void;
}

export class BodyBudget {
  readonly #maxBytes: number;
  #bytes = 0;
  /** In the order of their first bytes. */
  readonly #readings = new Set<CountedReading>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  open(maxBodyBytes: number): CountedReading {
    return new CountedReading(this, maxBodyBytes);
  }

  /**
   * Counts bytes of a body. If that is too much, refuses the oldest bodies: they are the slow ones, and
   * senders that hold back their last bytes cannot keep others out.
   */
  add(reading: CountedReading, bytes: number): void {
    this.#readings.add(reading);
    this.#bytes += bytes;
    for (const oldest of this.#readings) {
      if (this.#bytes <= this.#maxBytes) return;
      oldest.refuse('busy');
    }
  }

  remove(reading: CountedReading, bytes: number): void {
    if (this.#readings.delete(reading)) this.#bytes -= bytes;
  }
}

export class CountedReading implements BodyReading {
  readonly #budget: BodyBudget;
  readonly #maxBytes: number;
  #bytes = 0;
  #isEnded = false;
  #refusal: RefusalReason | undefined;
  #drop: (() => void) | undefined;

  constructor(budget: BodyBudget, maxBytes: number) {
    this.#budget = budget;
    this.#maxBytes = maxBytes;
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

  /** Does nothing if it has ended. */
  refuse(reason: RefusalReason): void {
    if (this.#isEnded) return;
    this.#refusal = reason;
    this.end();
    this.#drop?.();
  }

  /** Releases its bytes: it is read, or dropped. */
  end(): void {
    this.#isEnded = true;
    this.#budget.remove(this, this.#bytes);
  }
}
