/** Messages that were settled before the `enqueue` call that accepted them has resolved. */
import type { DeadReason, DiscardReason } from '../queue/queue.ts';

/** How a message ended. */
export type Fate = 'delivered' | 'dead' | 'discarded';

export interface SettledMessage {
  readonly fate: Fate;
  readonly reason?: DeadReason | DiscardReason | undefined;
}

/** Calls that began at about the same time, and what was settled meanwhile. */
class Generation {
  calls = 0;
  readonly kept = new Map<number, SettledMessage>();
}

/**
 * Keeps settled messages of unknown sequences while an `enqueue` call is under way that may have accepted
 * them. Most belong to other senders of a shared queue, so each is dropped soon: calls are counted by
 * generation, and what was settled in one is dropped when no call of it or of an earlier one is under way.
 */
export class EarlySettlements {
  #current = new Generation();
  #previous = new Generation();

  /** Number of messages that are kept. */
  get size(): number {
    return this.#current.kept.size + this.#previous.kept.size;
  }

  /** Begins a call of `enqueue`. Returns the function that ends it; to be called once. */
  begin(): () => void {
    const generation = this.#current;
    generation.calls += 1;
    return () => {
      generation.calls -= 1;
      this.#drop();
    };
  }

  /** Keeps a settled message if a call is under way. */
  keep(sequence: number, message: SettledMessage): void {
    if (this.#current.calls + this.#previous.calls === 0) return;
    this.#current.kept.set(sequence, message);
  }

  /** Returns the message of this sequence and drops it; `undefined` if it is not kept. */
  take(sequence: number): SettledMessage | undefined {
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
