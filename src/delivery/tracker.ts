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
  type ComparedRange,
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

/** Older than any message that the sender accepts. */
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
  /** What waited when the queue was opened: those that were due then, and the others. */
  #backlog = { lastSequence: 0, due: 0, notDue: 0 };
  /** A watch ends an epoch: what is accepted later does not count for it. */
  #epoch = BACKLOG_EPOCH + 1;
  /** Messages of epochs before this one were accepted before the last round of maintenance. */
  #forgetBefore = BACKLOG_EPOCH;
  #expected = 0;
  #acceptedCount = 0;
  /** Rises with each message that is settled here. */
  #version = 0;

  /** `isDeliveredHere` is false if another process delivers: then nothing is waited for. */
  constructor(isDeliveredHere: boolean) {
    this.#isDeliveredHere = isDeliveredHere;
    if (!isDeliveredHere) this.#opening.resolve();
  }

  /** Number of messages that this sender accepted, or is about to, and that are not settled. */
  get pending(): number {
    return this.#ranges.unsettled + this.#expected;
  }

  /** Number of messages that a watch which began now would wait for. */
  get awaited(): number {
    return this.pending + this.#backlog.due;
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
    const notDue = pendingMessages - dueMessages;
    this.#backlog = { lastSequence, due: dueMessages, notDue };
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
    if (sequence <= this.#backlog.lastSequence) {
      this.#settledOfBacklog(fate);
      return;
    }
    const range = this.#ranges.settle(sequence);
    if (range === undefined) {
      this.#early.keep(sequence, { fate, reason });
      return;
    }
    this.#version += 1;
    this.#watches.leave(range.epoch, 1, fate);
    if (this.#followed.size === 0) return;
    const followed = this.#followed.get(sequence);
    if (followed !== undefined) {
      this.#followed.delete(sequence);
      tellEnd(followed, { fate, reason });
    }
    if (range.unsettled === 0 && range.hasSettledElsewhere) this.#letGoWithin(range);
  }

  /** Nobody knows which of the backlog were due. Those go first. */
  #settledOfBacklog(fate: Fate): void {
    this.#version += 1;
    const backlog = this.#backlog;
    if (backlog.due > 0) {
      backlog.due -= 1;
      this.#watches.leave(BACKLOG_EPOCH, 1, fate);
    } else if (backlog.notDue > 0) backlog.notDue -= 1;
  }

  /** Counts what is settled here from now on, whoever accepted it. Returns a function that reads the counts. */
  tally(): () => FateCounts {
    return this.#watches.tally();
  }

  /** Begins a watch of all messages that are known by now and not settled. */
  watch(): Watch {
    const watch = this.#watches.begin(this.#epoch, this.#ranges.unsettled + this.#backlog.due);
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
    const settlings = this.#settlings;
    const comparison = {
      countPending,
      version: () => this.#version,
      isSettling: () => settlings.count > 0,
      settled: () => settlings.over(),
    };
    const { lastSequence, due, notDue } = this.#backlog;
    if (due > 0) {
      const backlog = { from: 1, to: lastSequence, unsettled: due + notDue };
      const onSettled = (_: ComparedRange, count: number): void => this.#goneOfBacklog(count);
      await compareRanges([backlog], { ...comparison, onSettled });
    }
    const onSettled = (range: UnsettledRange, count: number): void => this.#gone(range, count);
    await compareRanges(this.#ranges.before(epoch), { ...comparison, onSettled });
  }

  #goneOfBacklog(count: number): void {
    const backlog = this.#backlog;
    const due = Math.min(count, backlog.due);
    backlog.due -= due;
    backlog.notDue -= Math.min(count - due, backlog.notDue);
    this.#watches.leave(BACKLOG_EPOCH, due);
  }

  #gone(range: UnsettledRange, count: number): void {
    if (count === 0) return;
    this.#ranges.removeSettledElsewhere(range, count);
    this.#watches.leave(range.epoch, count);
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
