/**
 * What a sender has accepted and what became of it: counters only, however much waits. `flush` asks
 * it for an end.
 */
import { MessageOrigin } from '../../queue/message-classes.ts';
import type { DeadReason, DiscardReason, Origin } from '../../queue/queue.ts';
import { FollowedMessage } from './followed-message.ts';
import { occasion } from './occasion.ts';

/** How a message ended. */
export type Fate = 'delivered' | 'dead' | 'discarded';

export interface FateCounts {
  readonly delivered: number;
  readonly dead: number;
  readonly discarded: number;
}

/** What was accepted before a call of `flush`. */
export interface Watch {
  /** Settled since the watch began, and what is not settled yet. */
  counts(): FateCounts & { readonly pending: number };
  /** Resolves when nothing of it is pending, or at `end`. */
  readonly done: Promise<void>;
  /** Nobody waits for it any more. */
  end(): void;
}

interface Mark {
  readonly upTo: number;
  left: number;
  readonly fates: Record<Fate, number>;
  readonly finish: () => void;
}

export class Tracker {
  readonly #senderId: string;
  readonly #isDeliveredHere: boolean;
  #lastNumber = 0;
  #pending = 0;
  readonly #marks = new Set<Mark>();
  /** By number, until they end. */
  readonly #followed = new Map<number, FollowedMessage>();

  /** `isDeliveredHere` is false where another process delivers: then nothing is waited for. */
  constructor(senderId: string, isDeliveredHere: boolean) {
    this.#senderId = senderId;
    this.#isDeliveredHere = isDeliveredHere;
  }

  /** Of this sender, accepted and not settled. */
  get pending(): number {
    return this.#pending;
  }

  /** The last number given: what is accepted later has a higher one. */
  get lastNumber(): number {
    return this.#lastNumber;
  }

  /** Before a message is enqueued: it may be delivered before that call is over. */
  expect(): Origin {
    this.#lastNumber += 1;
    if (this.#isDeliveredHere) this.#pending += 1;
    return new MessageOrigin(this.#senderId, this.#lastNumber);
  }

  /** How this message will end; to be asked right after `expect`. */
  follow({ number }: Origin): FollowedMessage {
    const followed = new FollowedMessage();
    if (this.#isDeliveredHere) this.#followed.set(number, followed);
    else followed.tell({ outcome: 'accepted' });
    return followed;
  }

  /** What has not ended by now ends elsewhere. */
  letGo(): void {
    for (const followed of this.#followed.values()) followed.tell({ outcome: 'accepted' });
    this.#followed.clear();
  }

  /** It was not accepted after all. */
  forget({ number }: Origin): void {
    this.#followed.delete(number);
    this.#leave(number);
  }

  /** Once for each message: what is replayed has no origin any more. */
  settled({ senderId, number }: Origin, fate: Fate, reason?: DeadReason | DiscardReason): void {
    if (senderId !== this.#senderId) return;
    this.#leave(number, fate);
    if (this.#followed.size === 0) return;
    const followed = this.#followed.get(number);
    if (followed === undefined) return;
    this.#followed.delete(number);
    followed.tell({ outcome: fate, ...(reason === undefined ? {} : { reason }) });
  }

  #leave(number: number, fate?: Fate): void {
    if (this.#isDeliveredHere) this.#pending -= 1;
    if (this.#marks.size === 0) return;
    for (const mark of this.#marks) {
      if (number > mark.upTo) continue;
      mark.left -= 1;
      if (fate !== undefined) mark.fates[fate] += 1;
      if (mark.left > 0) continue;
      this.#marks.delete(mark);
      mark.finish();
    }
  }

  /** How what is settled from now on ends, whenever it was accepted. */
  tally(): () => FateCounts {
    const fates = { delivered: 0, dead: 0, discarded: 0 };
    const forEver = Number.POSITIVE_INFINITY;
    this.#marks.add({ upTo: forEver, left: forEver, fates, finish: () => {} });
    return () => ({ ...fates });
  }

  /** Of everything accepted so far that is not settled yet. */
  watch(): Watch {
    const fates = { delivered: 0, dead: 0, discarded: 0 };
    const { happened: done, tell: finish } = occasion();
    const mark = { upTo: this.#lastNumber, left: this.#pending, fates, finish };
    if (mark.left === 0) finish();
    else this.#marks.add(mark);
    return {
      counts: () => ({ ...fates, pending: mark.left }),
      done,
      end: () => {
        this.#marks.delete(mark);
        finish();
      },
    };
  }
}
