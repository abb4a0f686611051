/**
 * Follows the messages that `flush`, `close` and receipts wait for: those that this sender accepted, and those that
 * were due when it opened the queue. Holds ranges and counts, however many messages wait.
 *
 * - A range is a run of sequences whose messages this sender accepted, with the number of unsettled ones.
 * - An epoch is the time between two watches. Ranges of different epochs stay apart, so that a watch knows its own.
 * - The backlog is what waited in the queue when it was opened. Only its size is known.
 * - A message is settled elsewhere if another process that shares the queue has settled it. The queue reports how many
 *   messages of a range remain, so the number of these messages is known, but not which they are.
 */
import type { Backlog, DeadReason, DiscardReason } from '../queue/queue.ts';
import { deferred } from '../runtime/deferred.ts';
import { Underway } from '../runtime/underway.ts';
import {
  EarlySettlements,
  type FinalState,
  type FollowedMessage,
  type SettledCounts,
  type Watch,
  Watches,
} from './settled-messages.ts';
import {
  type CountPending,
  compareRanges,
  type UnsettledRange,
  UnsettledRanges,
} from './unsettled-ranges.ts';

/** A call of `enqueue` that is in progress. */
export interface ExpectedMessages {
  /**
   * Takes the sequences of the accepted messages. `followed` has one message for each of them; without it
   * the messages are only counted.
   */
  accepted(sequences: readonly number[], followed?: readonly FollowedMessage[]): void;
  /** The queue has taken none of the messages. */
  rejected(): void;
}

/** The backlog is older than any message that the sender accepts. */
const BACKLOG_EPOCH = 0;

export class Tracker {
  readonly #isDeliveredHere: boolean;
  readonly #ranges = new UnsettledRanges();
  readonly #early = new EarlySettlements();
  /** By sequence, until they end. */
  readonly #followed = new Map<number, FollowedMessage>();
  readonly #watches = new Watches();
  /** Calls that settle messages in the queue, until these are reported to `settled`. */
  readonly #settlings = new Underway();
  readonly #opening = deferred();
  #backlog: UnsettledRange | undefined;
  /** Messages of the backlog that were not due when the queue was opened; a watch does not wait for them. */
  #notDue = 0;
  #epoch = BACKLOG_EPOCH + 1;
  /** Set by each round of maintenance: the next round compares older epochs with the queue. */
  #forgetBefore = BACKLOG_EPOCH + 1;
  /** Messages of the calls of `enqueue` in progress. */
  #expected = 0;
  #acceptedCount = 0;
  /** Set by `endFollowed`: an `enqueue` call may still resolve after it. */
  #isOver = false;

  /** `isDeliveredHere` is false if another process delivers: then nothing is waited for. */
  constructor(isDeliveredHere: boolean) {
    this.#isDeliveredHere = isDeliveredHere;
    if (!isDeliveredHere) this.#opening.resolve();
  }

  /** Number of messages that this sender accepted, or is about to, and that are not settled. */
  get pending(): number {
    return this.#ranges.unsettled + this.#expected - (this.#backlog?.unsettled ?? 0);
  }

  /** Number of messages that a watch which began now would wait for, with those of calls in progress. */
  get awaited(): number {
    // Which messages of the backlog were due is not known: it is assumed that due ones settle first.
    const notDue = Math.min(this.#notDue, this.#backlog?.unsettled ?? 0);
    return this.#ranges.unsettled + this.#expected - notDue;
  }

  /** Number of messages that this sender accepted or is about to. Never falls. */
  get acceptedCount(): number {
    return this.#acceptedCount;
  }

  /** Number of ranges in memory. */
  get rangeCount(): number {
    return this.#ranges.size;
  }

  /** Resolves when `setBacklog` was called. */
  get opened(): Promise<void> {
    return this.#opening.promise;
  }

  /** Takes what waited in the queue when it was opened. */
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
      followed?.end(settled);
      return;
    }
    this.#ranges.add(sequence, this.#epoch);
    if (followed === undefined) return;
    if (this.#isOver) followed.end(ACCEPTED);
    else this.#followed.set(sequence, followed);
  }

  /** Ends all followed messages as `accepted`, now and later: other processes deliver them. */
  endFollowed(): void {
    this.#isOver = true;
    for (const followed of this.#followed.values()) followed.end(ACCEPTED);
    this.#followed.clear();
  }

  /** Takes a message that was settled here, whichever sender accepted it; once for each sequence. */
  settled(sequence: number, outcome: FinalState, reason?: DeadReason | DiscardReason): void {
    this.#watches.count(outcome);
    if (!this.#isDeliveredHere) return;
    const settled = reason === undefined ? { outcome } : { outcome, reason };
    const awaitedBefore = this.awaited;
    const range = this.#ranges.settle(sequence);
    if (range === undefined) {
      this.#early.keep(sequence, settled);
      return;
    }
    // 0 for a message of the backlog that counts as not due.
    this.#watches.remove(range.epoch, awaitedBefore - this.awaited, outcome);
    if (this.#followed.size === 0) return;
    const followed = this.#followed.get(sequence);
    if (followed !== undefined) {
      this.#followed.delete(sequence);
      followed.end(settled);
    }
    if (range.unsettled === 0 && range.hasSettledElsewhere) this.#endFollowedWithin(range);
  }

  /** Counts the calls of `settled` from now on. Returns a function that reads the counts. */
  counter(): () => SettledCounts {
    return this.#watches.counter();
  }

  /** Begins a watch of all messages that are known now and not settled. */
  watch(): Watch {
    const watch = this.#watches.begin(this.#epoch, this.awaited - this.#expected);
    this.#epoch += 1;
    return watch;
  }

  /** Begins a call that settles messages in the queue. Call the returned function when each is reported to `settled`. */
  beginSettling(): () => void {
    const settling = this.#settlings.begin();
    return () => this.#settlings.end(settling);
  }

  /**
   * Asks the queue how many messages of earlier epochs remain, and removes the others from their watches. Rejects with
   * what `countPending` rejects with.
   */
  async findSettledElsewhere(countPending: CountPending): Promise<void> {
    await this.#compareBefore(this.#epoch, countPending);
  }

  /**
   * Does the same for messages that were accepted before the last call of this method, whether they are watched or
   * not: messages that other processes settled would otherwise count as pending here for ever.
   */
  async forgetSettledElsewhere(countPending: CountPending): Promise<void> {
    const before = this.#forgetBefore;
    // Messages that are accepted from now on form ranges of their own.
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
    this.#watches.remove(range.epoch, awaitedBefore - this.awaited);
    if (range.unsettled === 0) this.#endFollowedWithin(range);
  }

  /** When a range is empty, the messages of it that are still followed were settled elsewhere. */
  #endFollowedWithin({ from, to }: UnsettledRange): void {
    for (const [sequence, followed] of this.#followed) {
      if (sequence < from || sequence > to) continue;
      this.#followed.delete(sequence);
      followed.end(ACCEPTED);
    }
  }
}

const ACCEPTED = { outcome: 'accepted' } as const;

const DELIVERED_ELSEWHERE: ExpectedMessages = {
  accepted: (_, followed = []) => {
    for (const one of followed) one.end(ACCEPTED);
  },
  rejected: () => {},
};
