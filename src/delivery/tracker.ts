/**
 * Which messages a sender waits for: those that it accepted, and those that were due when it opened the
 * queue. Holds ranges and counts, however many messages wait.
 */
import type { Backlog, DeadReason, DiscardReason, SequenceRange } from '../queue/queue.ts';
import { deferred } from '../runtime/deferred.ts';
import { Underway } from '../runtime/underway.ts';
import {
  EarlySettlements,
  type Fate,
  type FateCounts,
  type FollowedMessage,
  type SettledMessage,
  type Watch,
  Watches,
} from './settled-messages.ts';
import {
  type CountPending,
  compareRanges,
  type UnsettledRange,
  UnsettledRanges,
} from './unsettled-ranges.ts';

/** A call of `enqueue` that is under way. */
export interface ExpectedMessages {
  /**
   * Takes the sequences of the accepted messages. `followed` has one message for each of them; without it
   * nobody follows them.
   */
  accepted(sequences: readonly number[], followed?: readonly FollowedMessage[]): void;
  /** Nothing was accepted. */
  rejected(): void;
}

/** The messages that waited in the queue when it was opened are older than any that the sender accepts. */
const BACKLOG_EPOCH = 0;

export class Tracker {
  readonly #isDeliveredHere: boolean;
  readonly #ranges = new UnsettledRanges();
  readonly #early = new EarlySettlements();
  /** By sequence, until they end. */
  readonly #followed = new Map<number, FollowedMessage>();
  readonly #watches = new Watches();
  /** Calls after which messages are settled here that the queue may have settled already. */
  readonly #settlings = new Underway();
  readonly #opening = deferred();
  #backlog: UnsettledRange | undefined;
  /** Messages of the backlog that were not due when the queue was opened: nobody waits for these. */
  #notDue = 0;
  /** A watch ends an epoch: what is accepted later does not count for it. */
  #epoch = BACKLOG_EPOCH + 1;
  /** Messages of epochs before this one were accepted before the last round of maintenance. */
  #forgetBefore = BACKLOG_EPOCH + 1;
  #expected = 0;
  #acceptedCount = 0;

  /** `isDeliveredHere` is false if another process delivers: then nothing is waited for. */
  constructor(isDeliveredHere: boolean) {
    this.#isDeliveredHere = isDeliveredHere;
    if (!isDeliveredHere) this.#opening.resolve();
  }

  /** Number of messages that this sender accepted, or is about to, and that are not settled. */
  get pending(): number {
    return this.#ranges.unsettled + this.#expected - (this.#backlog?.unsettled ?? 0);
  }

  /** Number of messages that a watch which began now would wait for. */
  get awaited(): number {
    // Nobody knows which messages of the backlog were due: those that are settled first count as due.
    const notDue = Math.min(this.#notDue, this.#backlog?.unsettled ?? 0);
    return this.#ranges.unsettled + this.#expected - notDue;
  }

  /** Number of messages that this sender accepted or is about to. Rises only. */
  get acceptedCount(): number {
    return this.#acceptedCount;
  }

  /** Number of ranges in memory. */
  get rangeCount(): number {
    return this.#ranges.size;
  }

  /** Resolves when it is known what waited in the queue when it was opened. */
  get opened(): Promise<void> {
    return this.#opening.promise;
  }

  /** Takes what waited in the queue. */
  setBacklog({ pendingMessages, dueMessages, lastSequence }: Backlog): void {
    if (!this.#isDeliveredHere) return;
    if (pendingMessages > 0) {
      this.#backlog = {
        from: 1,
        to: lastSequence,
        unsettled: pendingMessages,
        epoch: BACKLOG_EPOCH,
        hasSettledElsewhere: false,
      };
      this.#ranges.addFirst(this.#backlog);
      this.#notDue = pendingMessages - dueMessages;
    }
    this.#opening.resolve();
  }

  /** Begins an `enqueue` call of `count` messages, some of which may be settled before it resolves. */
  expect(count: number): ExpectedMessages {
    this.#acceptedCount += count;
    if (!this.#isDeliveredHere) return DELIVERED_ELSEWHERE;
    this.#expected += count;
    const end = this.#early.begin();
    return {
      accepted: (sequences, followed) => {
        this.#expected -= count;
        for (let index = 0; index < sequences.length; index += 1) {
          this.#accept(sequences[index] as number, followed?.[index]);
        }
        end();
      },
      rejected: () => {
        this.#expected -= count;
        end();
      },
    };
  }

  #accept(sequence: number, followed: FollowedMessage | undefined): void {
    const settled = this.#early.take(sequence);
    if (settled !== undefined) {
      if (followed !== undefined) tellEnd(followed, settled);
      return;
    }
    this.#ranges.add(sequence, this.#epoch);
    if (followed !== undefined) this.#followed.set(sequence, followed);
  }

  /** Tells all followed messages that they end elsewhere. */
  letGo(): void {
    for (const followed of this.#followed.values()) followed.tell({ outcome: 'accepted' });
    this.#followed.clear();
  }

  /** Takes a message that was settled here, whoever accepted it; once for each sequence. */
  settled(sequence: number, fate: Fate, reason?: DeadReason | DiscardReason): void {
    this.#watches.count(fate);
    if (!this.#isDeliveredHere) return;
    const awaitedBefore = this.awaited;
    const range = this.#ranges.settle(sequence);
    if (range === undefined) {
      this.#early.keep(sequence, { fate, reason });
      return;
    }
    this.#watches.leave(range.epoch, awaitedBefore - this.awaited, fate);
    if (this.#followed.size === 0) return;
    const followed = this.#followed.get(sequence);
    if (followed !== undefined) {
      this.#followed.delete(sequence);
      tellEnd(followed, { fate, reason });
    }
    if (range.unsettled === 0 && range.hasSettledElsewhere) this.#letGoWithin(range);
  }

  /** Counts what is settled here from now on, whoever accepted it. Returns a function that reads the counts. */
  tally(): () => FateCounts {
    return this.#watches.tally();
  }

  /** Begins a watch of all messages that are known by now and not settled. */
  watch(): Watch {
    const watch = this.#watches.begin(this.#epoch, this.awaited - this.#expected);
    this.#epoch += 1;
    return watch;
  }

  /** Begins what settles messages in the queue. Returns a function to be called once each of them is reported here. */
  beginSettling(): () => void {
    const settling = this.#settlings.begin();
    return () => this.#settlings.end(settling);
  }

  /**
   * Asks the queue which of the watched messages it still has, and lets the others leave. Rejects with what
   * `countPending` rejects with.
   */
  async findSettledElsewhere(countPending: CountPending): Promise<void> {
    await this.#compareBefore(this.#epoch, countPending);
  }

  /**
   * The same for messages that were accepted before the last call, whether or not they are watched: else what
   * others settle of a shared queue would count as pending here for ever.
   */
  async forgetSettledElsewhere(countPending: CountPending): Promise<void> {
    const before = this.#forgetBefore;
    // What is accepted from now on makes ranges of its own.
    if (this.#ranges.unsettled > 0) this.#epoch += 1;
    this.#forgetBefore = this.#epoch;
    await this.#compareBefore(before, countPending);
  }

  async #compareBefore(epoch: number, countPending: CountPending): Promise<void> {
    await compareRanges(this.#ranges.before(epoch), {
      countPending,
      counted: () => this.#settlings.over(),
      onSettledElsewhere: (range, count) => this.#settledElsewhere(range, count),
    });
  }

  #settledElsewhere(range: UnsettledRange, count: number): void {
    if (count === 0) return;
    const awaitedBefore = this.awaited;
    this.#ranges.removeSettledElsewhere(range, count);
    this.#watches.leave(range.epoch, awaitedBefore - this.awaited);
    if (range.unsettled === 0) this.#letGoWithin(range);
  }

  /** Nobody knows which messages of a range others have settled: those that are left when it is empty. */
  #letGoWithin(range: UnsettledRange): void {
    if (this.#followed.size === 0) return;
    for (const [sequence, followed] of this.#followed) {
      if (!isWithin(range, sequence)) continue;
      this.#followed.delete(sequence);
      followed.tell({ outcome: 'accepted' });
    }
  }
}

const isWithin = ({ from, to }: SequenceRange, sequence: number): boolean =>
  from <= sequence && sequence <= to;

function tellEnd(followed: FollowedMessage, { fate, reason }: SettledMessage): void {
  followed.tell({ outcome: fate, ...(reason === undefined ? {} : { reason }) });
}

/** How messages end is for another process to tell. */
const DELIVERED_ELSEWHERE: ExpectedMessages = {
  accepted: (_, followed = []) => {
    for (const one of followed) one.tell({ outcome: 'accepted' });
  },
  rejected: () => {},
};
