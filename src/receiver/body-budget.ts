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

/** A body that counts for the limits until `end` is called. */
export interface OpenBody extends BodyReading {
  readonly refusal: RefusalReason | undefined;
  /** Releases its bytes, after the body was read or dropped. */
  end(): void;
}

interface Limits {
  /** Bytes of all bodies together. */
  readonly maxBytes: number;
  /** Time for one body, in milliseconds. */
  readonly timeoutMs: number;
}

interface Entry {
  readonly deadlineMs: number;
  bytes: number;
  refusal: RefusalReason | undefined;
  drop: (() => void) | undefined;
}

export class BodyBudget {
  readonly #limits: Limits;
  readonly #clock: Clock;
  #bytes = 0;
  /** Oldest first. All have the same timeout, so the first is the next to time out. */
  readonly #open = new Set<Entry>();
  /** Ordered by the arrival of their first byte: finding the oldest must not take longer with many connections that send nothing. */
  readonly #withBytes = new Set<Entry>();
  #isWatching = false;

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  open(maxBodyBytes: number): OpenBody {
    const { timeoutMs } = this.#limits;
    const deadlineMs = this.#clock.monotonicMs() + timeoutMs;
    const entry: Entry = { deadlineMs, bytes: 0, refusal: undefined, drop: undefined };
    this.#open.add(entry);
    this.#watch(timeoutMs);
    return {
      take: (bytes) => this.#take(entry, bytes, maxBodyBytes),
      onRefused: (listener) => {
        entry.drop = listener;
      },
      get refusal() {
        return entry.refusal;
      },
      end: () => this.#end(entry),
    };
  }

  /** One timer for all bodies: a timer for each request would cost as much as its verification. */
  #watch(ms: number): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#clock.sleepUnref(ms).then(() => {
      this.#isWatching = false;
      const now = this.#clock.monotonicMs();
      for (const first of this.#open) {
        if (first.deadlineMs > now) return this.#watch(first.deadlineMs - now);
        this.#refuse(first, 'body-late');
      }
    });
  }

  /**
   * Counts bytes of a body. Above the limit of all bodies it refuses the oldest, so that senders which hold
   * back their last bytes cannot block others.
   */
  #take(entry: Entry, bytes: number, maxBodyBytes: number): boolean {
    if (!this.#open.has(entry)) return false;
    if (entry.bytes + bytes > maxBodyBytes) {
      this.#refuse(entry, 'body-too-large');
      return false;
    }
    entry.bytes += bytes;
    this.#bytes += bytes;
    this.#withBytes.add(entry);
    for (const oldest of this.#withBytes) {
      if (this.#bytes <= this.#limits.maxBytes) break;
      this.#refuse(oldest, 'busy');
    }
    return this.#open.has(entry);
  }

  #refuse(entry: Entry, reason: RefusalReason): void {
    entry.refusal = reason;
    this.#end(entry);
    entry.drop?.();
  }

  #end(entry: Entry): void {
    this.#withBytes.delete(entry);
    if (this.#open.delete(entry)) this.#bytes -= entry.bytes;
  }
}
