/** The final states of messages, which `flush`, `close` and receipts of the reporter wait for. */
import type { DeadReason, DiscardReason } from '../queue/queue.ts';

/** The state in which a message ends. */
export type FinalState = 'delivered' | 'dead' | 'discarded';

/** How a message ended. */
export interface MessageEnd {
  /** `accepted`: it stays in a queue, and another process, or a later one, delivers it. */
  readonly outcome: FinalState | 'accepted';
  /** Why the message is dead or discarded. */
  readonly reason?: DeadReason | DiscardReason;
}

/** Calls that began at about the same time, and messages that were settled meanwhile. */
class Generation {
  calls = 0;
  readonly kept = new Map<number, MessageEnd>();
}

/**
 * Bounds the memory while a queue never answers a call. If a message of this sender is dropped, it is later counted as
 * settled elsewhere.
 */
const MAX_KEPT = 100_000;

/**
 * Keeps messages that are settled before the `enqueue` call that accepted them has resolved with their sequences. Most
 * belong to other senders of a shared queue. Each generation is dropped as a whole, when no call of it or of an earlier
 * generation is in progress.
 */
export class EarlySettlements {
  #current = new Generation();
  #previous = new Generation();

  get size(): number {
    return this.#current.kept.size + this.#previous.kept.size;
  }

  /** Begins a call of `enqueue`. Returns the function that ends it; call it once. */
  begin(): () => void {
    const generation = this.#current;
    generation.calls += 1;
    return () => {
      generation.calls -= 1;
      this.#drop();
    };
  }

  /** Keeps a settled message while a call is in progress. Drops the oldest one when the limit is reached. */
  keep(sequence: number, message: MessageEnd): void {
    if (this.#current.calls + this.#previous.calls === 0) return;
    this.#current.kept.set(sequence, message);
    if (this.size <= MAX_KEPT) return;
    const { kept } = this.#previous.kept.size > 0 ? this.#previous : this.#current;
    const [oldest] = kept.keys();
    kept.delete(oldest as number);
  }

  /** Removes and returns the message with this sequence; `undefined` if it is not kept. */
  take(sequence: number): MessageEnd | undefined {
    if (this.size === 0) return undefined;
    for (const { kept } of [this.#previous, this.#current]) {
      const message = kept.get(sequence);
      if (message === undefined) continue;
      kept.delete(sequence);
      return message;
    }
    return undefined;
  }

  #drop(): void {
    while (this.#previous.calls === 0 && this.size > 0) {
      this.#previous = this.#current;
      this.#current = new Generation();
    }
  }
}

/** Number of messages by the state in which they ended. */
export type SettledCounts = Readonly<Record<FinalState, number>>;

/** Counts of the messages that a `flush` waits for. */
export interface WatchCounts extends SettledCounts {
  /** Settled by another process since the call. */
  readonly settledElsewhere: number;
  /** Not settled. */
  readonly pending: number;
}

/** A message whose end a caller waits for; most messages are only counted. The promise is created on first use. */
export class FollowedMessage {
  #end: MessageEnd | undefined;
  #ended: Promise<MessageEnd> | undefined;
  #resolve: ((end: MessageEnd) => void) | undefined;

  /** Resolves `ended`; call it once. */
  end(end: MessageEnd): void {
    this.#end = end;
    this.#resolve?.(end);
  }

  get ended(): Promise<MessageEnd> {
    this.#ended ??= new Promise((resolve) => {
      if (this.#end !== undefined) resolve(this.#end);
      else this.#resolve = resolve;
    });
    return this.#ended;
  }
}
