/**
 * Follows the messages that `flush`, `close` and receipts wait for: those that this sender accepted, and those that
 * were due when it opened the queue. Stores ranges and counts, not messages, except those that a receipt follows.
 *
 * - A range is a run of sequences whose messages this sender accepted, with the number of unsettled ones.
 * - An epoch is the time between two calls of `flush` or rounds of maintenance. A message has the epoch in which its
 *   call began. A range holds messages of one epoch, so that a watch counts only messages whose calls began before it.
 * - The backlog is what waited in the queue when it was opened. Only its size is known.
 * - A message is settled elsewhere if another process that shares the queue has settled it. The queue reports how many
 *   messages of a range remain, so the number of these messages is known, but not which they are.
 */
import type { Backlog, DeadReason, DiscardReason } from '../queue/queue.ts';
import { CallsInProgress } from '../runtime/calls-in-progress.ts';
import { deferred } from '../runtime/deferred.ts';
import { EpochCounts } from './epoch-counts.ts';
import {
  EarlySettlements,
  type FinalState,
  type FollowedMessage,
  type SettledCounts,
  type WatchCounts,
} from './settled-messages.ts';
import {
  type CountPending,
  compareRanges,
  type UnsettledRange,
  UnsettledRanges,
} from './unsettled-ranges.ts';

/** Waits for the messages that were not settled when it began. */
export interface Watch {
  readonly counts: WatchCounts;
  /** Resolves when none of them is pending. */
  readonly done: Promise<void>;
}

interface ActiveWatch extends Watch {
  /** It waits for messages of this epoch and of earlier ones. */
  readonly epoch: number;
  readonly counts: { -readonly [Name in keyof WatchCounts]: number };
  readonly finish: () => void;
}

/**
 * Ends a call of `enqueue`, with the sequences of the accepted messages; none if the queue rejected them. `followed`
 * has a message for each sequence, in order; without it the messages are only counted.
 */
export type EndEnqueue = (
  sequences: readonly number[],
  followed?: readonly FollowedMessage[],
) => void;

/** The backlog is older than any message that the sender accepts. */
const BACKLOG_EPOCH = 0;

const ACCEPTED = { outcome: 'accepted' } as const;

const DO_NOTHING = (): void => {};

const endAsAccepted: EndEnqueue = (_, followed = []) => {
  for (const one of followed) one.end(ACCEPTED);
};

export class Tracker {
  readonly #isDeliveredHere: boolean;
  readonly #ranges = new UnsettledRanges();
  readonly #early = new EarlySettlements();
  /** By sequence, until they end. */
  readonly #followed = new Map<number, FollowedMessage>();
  readonly #watches = new Set<ActiveWatch>();
  /** Messages that were settled here, of any sender. */
  readonly #settledHere = { delivered: 0, dead: 0, discarded: 0 };
  /** Calls that settle messages in the queue, until these are reported to `recordSettled`. */
  readonly #settlings = new CallsInProgress();
  readonly #opening = deferred();
  #backlog: UnsettledRange | undefined;
  /** Messages of the backlog that were not due when the queue was opened; a watch does not wait for them. */
  #notDue = 0;
  #epoch = BACKLOG_EPOCH + 1;
  /** Messages of calls that read them, look up settings, or wait for the queue to open. */
  readonly #reading = new EpochCounts();
  /** Messages of the calls of `enqueue` in progress. */
  readonly #expected = new EpochCounts();
  #acceptedCount = 0;
  /** Set by `endFollowed`: an `enqueue` call may still resolve after it. */
  #isOver = false;

  /** `isDeliveredHere` is false if another process delivers: then nothing is waited for. */
  constructor(isDeliveredHere: boolean) {
    this.#isDeliveredHere = isDeliveredHere;
    if (!isDeliveredHere) this.#opening.resolve();
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Number of messages that this sender accepted, or is about to, and that are not settled. */
  get pending(): number {
    const expected = this.#expected.upTo(this.#epoch);
    return this.#ranges.unsettled + expected - (this.#backlog?.unsettled ?? 0);
  }

  /** Number of messages that a watch of these epochs would wait for, with those of calls in progress. */
  awaitedCount(epoch = this.#epoch): number {
    const inProgress = this.#reading.upTo(epoch) + this.#expected.upTo(epoch);
    return this.#ranges.unsettledTo(epoch) + inProgress - this.#notDueLeft;
  }

  /** Returns whether a watch of this epoch and earlier ones would wait for the message. */
  isAwaited(sequence: number, epoch: number): boolean {
    const range = this.#ranges.find(sequence);
    return range !== undefined && range.epoch <= epoch;
  }

  /** Number of unsettled messages in all ranges, except those of the backlog that count as not due. */
  get #awaited(): number {
    return this.#ranges.unsettled - this.#notDueLeft;
  }

  /** The queue reports how many messages of the backlog are not due, but not which. Due ones count as settled first. */
  get #notDueLeft(): number {
    return Math.min(this.#notDue, this.#backlog?.unsettled ?? 0);
  }

  /** Number of messages that this sender accepted or is about to. Never falls. */
  get acceptedCount(): number {
    return this.#acceptedCount;
  }

  get rangeCount(): number {
    return this.#ranges.size;
  }

  get settledCounts(): SettledCounts {
    return { ...this.#settledHere };
  }

  /** Resolves when `setBacklog` was called. */
  get opened(): Promise<void> {
    return this.#opening.promise;
  }

  /** Records what waited in the queue when it was opened. */
  setBacklog({ pendingMessages, dueMessages, lastSequence }: Backlog): void {
    if (!this.#isDeliveredHere) return;
    if (pendingMessages > 0) {
      this.#backlog = this.#ranges.addFirst({
        from: 1,
        to: lastSequence,
        unsettled: pendingMessages,
        epoch: BACKLOG_EPOCH,
      });
      this.#notDue = pendingMessages - dueMessages;
    }
    this.#opening.resolve();
  }

  /** Begins a call of `send`. Returns a function to call before `beginEnqueue`, or if the call fails. */
  beginReading(count: number, epoch: number): () => void {
    if (!this.#isDeliveredHere || count === 0) return DO_NOTHING;
    this.#reading.add(epoch, count);
    let isReading = true;
    return () => {
      if (isReading) this.#reading.add(epoch, -count);
      isReading = false;
    };
  }

  /**
   * Begins a call of `enqueue` with `count` messages, some of which may be settled before it resolves. Their call of
   * `send` began in `epoch`.
   */
  beginEnqueue(count: number, epoch = this.#epoch): EndEnqueue {
    this.#acceptedCount += count;
    if (!this.#isDeliveredHere) return endAsAccepted;
    this.#expected.add(epoch, count);
    const end = this.#early.begin();
    return (sequences, followed) => {
      this.#expected.add(epoch, -count);
      for (let index = 0; index < sequences.length; index += 1) {
        this.#accept(sequences[index] as number, epoch, followed?.[index]);
      }
      end();
    };
  }

  #accept(sequence: number, epoch: number, followed: FollowedMessage | undefined): void {
    const settled = this.#early.take(sequence);
    if (settled !== undefined) {
      followed?.end(settled);
      return;
    }
    this.#ranges.add(sequence, epoch);
    if (this.#isOver) followed?.end(ACCEPTED);
    else if (followed !== undefined) this.#followed.set(sequence, followed);
  }

  /** Ends all followed messages as `accepted`, now and later: other processes deliver them. */
  endFollowed(): void {
    this.#isOver = true;
    for (const followed of this.#followed.values()) followed.end(ACCEPTED);
    this.#followed.clear();
  }

  /** Records that a message was settled here, whichever sender accepted it; call it once for each sequence. */
  recordSettled(sequence: number, outcome: FinalState, reason?: DeadReason | DiscardReason): void {
    this.#settledHere[outcome] += 1;
    const settled = reason === undefined ? { outcome } : { outcome, reason };
    const awaitedBefore = this.#awaited;
    const range = this.#ranges.remove(sequence);
    if (range === undefined) {
      this.#early.keep(sequence, settled);
      return;
    }
    this.#count(range, awaitedBefore - this.#awaited, outcome);
    this.#followed.get(sequence)?.end(settled);
    this.#followed.delete(sequence);
    if (range.unsettled === 0 && range.hasSettledElsewhere) this.#endFollowedWithin(range);
  }

  /** Begins a watch of the messages up to an epoch that has ended. Messages of calls in progress stay pending in it. */
  watch(epoch = this.startEpoch()): Watch {
    const { promise: done, resolve: finish } = deferred();
    const pending = this.awaitedCount(epoch);
    const counts = { delivered: 0, dead: 0, discarded: 0, settledElsewhere: 0, pending };
    const watch = { epoch, counts, done, finish };
    if (pending === 0) finish();
    else this.#watches.add(watch);
    return watch;
  }

  /** Ends a watch. Its counts no longer change. */
  unwatch(watch: Watch): void {
    this.#watches.delete(watch as ActiveWatch);
  }

  #count(
    { epoch }: UnsettledRange,
    count: number,
    how: Exclude<keyof WatchCounts, 'pending'>,
  ): void {
    for (const watch of this.#watches) {
      if (epoch > watch.epoch) continue;
      watch.counts.pending -= count;
      watch.counts[how] += count;
      if (watch.counts.pending > 0) continue;
      this.#watches.delete(watch);
      watch.finish();
    }
  }

  /** Begins a call that settles messages in the queue. Returns a function to call after `recordSettled` for each. */
  beginSettling(): () => void {
    const settling = this.#settlings.begin();
    return () => this.#settlings.end(settling);
  }

  /** Keeps the messages of calls that begin from now on apart from the others. Returns the epoch that ends. */
  startEpoch(): number {
    this.#epoch += 1;
    return this.#epoch - 1;
  }

  /**
   * Asks the queue how many messages of earlier epochs remain, and removes the others from their watches: messages that
   * other processes settled would otherwise count as pending here for ever. Rejects with what `countPending` rejects with.
   */
  async findSettledElsewhere(countPending: CountPending): Promise<void> {
    await compareRanges(this.#ranges.fixBefore(this.#epoch), {
      countPending,
      waitForSettlings: () => this.#settlings.waitForAll(),
      onSettledElsewhere: (range, count) => this.#settledElsewhere(range, count),
    });
  }

  #settledElsewhere(range: UnsettledRange, count: number): void {
    if (count === 0) return;
    const awaitedBefore = this.#awaited;
    this.#ranges.removeSettledElsewhere(range, count);
    this.#count(range, awaitedBefore - this.#awaited, 'settledElsewhere');
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
