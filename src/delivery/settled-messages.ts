/** How messages ended, for whoever waits for it: receipts, `flush` and `close`. */
import type { DeadReason, DiscardReason } from '../queue/queue.ts';
import { deferred } from '../runtime/deferred.ts';

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
 * A queue that never answers a call must not cost memory without end. A message that is dropped and was accepted after
 * all counts as settled elsewhere, which the next comparison with the queue finds.
 */
const MAX_KEPT = 100_000;

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

  /** Keeps a settled message if a call is under way. Drops the oldest one past the limit. */
  keep(sequence: number, message: SettledMessage): void {
    if (this.#current.calls + this.#previous.calls === 0) return;
    this.#current.kept.set(sequence, message);
    if (this.size <= MAX_KEPT) return;
    const { kept } = this.#previous.kept.size > 0 ? this.#previous : this.#current;
    const [oldest] = kept.keys();
    kept.delete(oldest as number);
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

export interface FateCounts {
  readonly delivered: number;
  readonly dead: number;
  readonly discarded: number;
}

/** Counts of the messages that a watch waits for. */
export interface WatchCounts extends FateCounts {
  /** Settled by another process, since the watch began. */
  readonly settledElsewhere: number;
  /** Not settled. */
  readonly pending: number;
}

/** Waits for the messages that were not settled when it began. */
export interface Watch {
  readonly counts: () => WatchCounts;
  /** Resolves when none of them is pending, or at `end`. */
  readonly done: Promise<void>;
  /** Ends the watch. Its counts stay as they are. */
  readonly end: () => void;
}

interface Mark {
  /** Messages of this epoch or an earlier one count. */
  readonly epoch: number;
  pending: number;
  settledElsewhere: number;
  readonly fates: Record<Fate, number>;
  readonly finish: () => void;
}

export class Watches {
  readonly #marks = new Set<Mark>();
  readonly #tallies = new Set<Record<Fate, number>>();

  /** Begins a watch of `pending` messages, which are those of the epoch and earlier ones. */
  begin(epoch: number, pending: number): Watch {
    const { promise: done, resolve: finish } = deferred();
    const fates = { delivered: 0, dead: 0, discarded: 0 };
    const mark: Mark = { epoch, pending, settledElsewhere: 0, fates, finish };
    if (pending === 0) finish();
    else this.#marks.add(mark);
    return {
      counts: () => ({ ...fates, settledElsewhere: mark.settledElsewhere, pending: mark.pending }),
      done,
      end: () => {
        this.#marks.delete(mark);
        finish();
      },
    };
  }

  /** Lets messages leave the watches that wait for them. Without a fate they were settled elsewhere. */
  leave(epoch: number, count: number, fate?: Fate): void {
    for (const mark of this.#marks) {
      if (epoch > mark.epoch) continue;
      mark.pending -= count;
      if (fate === undefined) mark.settledElsewhere += count;
      else mark.fates[fate] += count;
      if (mark.pending > 0) continue;
      this.#marks.delete(mark);
      mark.finish();
    }
  }

  /** Begins to count all that `count` is called with. Returns a function that reads the counts. */
  tally(): () => FateCounts {
    const fates = { delivered: 0, dead: 0, discarded: 0 };
    this.#tallies.add(fates);
    return () => ({ ...fates });
  }

  /** Counts a settled message for the tallies. */
  count(fate: Fate): void {
    for (const tally of this.#tallies) tally[fate] += 1;
  }
}

/** One message whose end somebody wants to know; most are only counted. */
export interface MessageEnd {
  /** `accepted`: it stays in a queue from which another process, or a later one, delivers. */
  readonly outcome: 'delivered' | 'dead' | 'discarded' | 'accepted';
  /** Why, of a message that is dead or discarded: a word of the dead or the discard reasons. */
  readonly reason?: string;
}

/** Told once, and asked whenever: a promise is made for whoever asks, and for nobody else. */
export class FollowedMessage {
  #end: MessageEnd | undefined;
  #ended: Promise<MessageEnd> | undefined;
  #tell: ((end: MessageEnd) => void) | undefined;

  tell(end: MessageEnd): void {
    this.#end = end;
    this.#tell?.(end);
  }

  get ended(): Promise<MessageEnd> {
    this.#ended ??= new Promise((resolve) => {
      if (this.#end !== undefined) resolve(this.#end);
      else this.#tell = resolve;
    });
    return this.#ended;
  }
}
