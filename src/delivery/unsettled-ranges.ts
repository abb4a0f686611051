/** Sequences of a queue as ranges, with the number of unsettled messages in each. */
import type { SequenceRange } from '../queue/queue.ts';

/** A range of sequences. Each is, or was, a message of this sender, except in the range of the backlog. */
export interface UnsettledRange extends SequenceRange {
  readonly from: number;
  readonly to: number;
  /** Number of its messages that are not settled; at least 1. */
  readonly unsettled: number;
  /** Ranges of different epochs do not merge. */
  readonly epoch: number;
  /** Whether another process has settled some of its messages. */
  readonly hasSettledElsewhere: boolean;
}

type Range = { -readonly [Key in keyof UnsettledRange]: UnsettledRange[Key] } & {
  /** A range that is compared with the queue gets no more messages: the queue's answer may be older than they are. */
  isFixed: boolean;
};

/** Sorted ranges. A million messages of consecutive sequences take one of them. */
export class UnsettledRanges {
  /** Some are empty: they are removed in bulk, since a splice costs O(n). */
  #ranges: Range[] = [];
  #emptyCount = 0;
  #unsettled = 0;

  /** Number of unsettled messages in all ranges. */
  get unsettled(): number {
    return this.#unsettled;
  }

  get size(): number {
    return this.#ranges.length - this.#emptyCount;
  }

  /** Adds a range before all others. Returns it: `remove` and `fixBefore` return the same object. */
  addFirst(given: SequenceRange & Pick<Range, 'unsettled' | 'epoch'>): UnsettledRange {
    const range = { ...given, hasSettledElsewhere: false, isFixed: true };
    this.#unsettled += range.unsettled;
    this.#ranges.unshift(range);
    return range;
  }

  /** Adds an unsettled message, and merges it with adjacent ranges of its epoch. */
  add(sequence: number, epoch: number): void {
    this.#unsettled += 1;
    const index = this.#indexAfter(sequence);
    const before = this.#ranges[index - 1];
    const after = this.#ranges[index];
    const joinsAfter = isOpen(after, epoch) && after.from === sequence + 1;
    if (isOpen(before, epoch) && before.to === sequence - 1) {
      before.to = sequence;
      before.unsettled += 1;
      if (!joinsAfter) return;
      before.to = after.to;
      before.unsettled += after.unsettled;
      this.#ranges.splice(index, 1);
    } else if (joinsAfter) {
      after.from = sequence;
      after.unsettled += 1;
    } else {
      this.#ranges.splice(index, 0, {
        from: sequence,
        to: sequence,
        unsettled: 1,
        epoch,
        hasSettledElsewhere: false,
        isFixed: false,
      });
    }
  }

  /** Returns the range of an unsettled message; `undefined` without one. */
  find(sequence: number): UnsettledRange | undefined {
    const range = this.#ranges[this.#indexAfter(sequence) - 1];
    if (range === undefined || range.to < sequence || range.unsettled === 0) return undefined;
    return range;
  }

  /** Removes a settled message. Returns the range that it was in; `undefined` without one. */
  remove(sequence: number): UnsettledRange | undefined {
    const range = this.find(sequence);
    if (range !== undefined) this.#reduce(range as Range, 1);
    return range;
  }

  /** Removes `count` messages of a range, whichever they are. */
  removeSettledElsewhere(given: UnsettledRange, count: number): void {
    const range = given as Range;
    range.hasSettledElsewhere = true;
    this.#reduce(range, count);
  }

  #reduce(range: Range, count: number): void {
    range.unsettled -= count;
    this.#unsettled -= count;
    if (range.unsettled > 0) return;
    this.#emptyCount += 1;
    if (this.#emptyCount * 2 < this.#ranges.length) return;
    this.#ranges = this.#ranges.filter(({ unsettled }) => unsettled > 0);
    this.#emptyCount = 0;
  }

  /** Number of unsettled messages in the ranges of the epochs up to `epoch`. */
  unsettledTo(epoch: number): number {
    let sum = 0;
    for (const range of this.#ranges) if (range.epoch <= epoch) sum += range.unsettled;
    return sum;
  }

  /** Returns the ranges of the epochs before `epoch`. No message is added to them later. */
  fixBefore(epoch: number): UnsettledRange[] {
    const found = this.#ranges.filter((range) => range.epoch < epoch && range.unsettled > 0);
    for (const range of found) range.isFixed = true;
    return found;
  }

  /** Returns the index of the first range that begins after the sequence. */
  #indexAfter(sequence: number): number {
    const last = this.#ranges.at(-1);
    // Most messages are new ones, which have the highest sequence.
    if (last === undefined || last.from <= sequence) return this.#ranges.length;
    let [low, high] = [0, this.#ranges.length - 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#ranges[middle] as Range).from <= sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Returns whether a message of the epoch may be added to the range. */
const isOpen = (range: Range | undefined, epoch: number): range is Range =>
  range !== undefined && range.epoch === epoch && range.unsettled > 0 && !range.isFixed;

export type CountPending = (ranges: readonly SequenceRange[]) => Promise<number>;

export interface Comparison {
  readonly countPending: CountPending;
  /** Resolves when all messages that this process is settling now are removed from their ranges. */
  readonly waitForSettlings: () => Promise<void>;
  /** Called for each range of which another process has settled `count` messages. */
  readonly onSettledElsewhere: (range: UnsettledRange, count: number) => void;
}

/** Maximum number of ranges in one query, to limit its parameters. */
const RANGES_AT_ONCE = 1000;

/**
 * Asks the queue how many messages of the ranges it still has: of all ranges together, and of halves of them where
 * messages are gone. Rejects with what `countPending` rejects with.
 */
export async function compareRanges(
  ranges: readonly UnsettledRange[],
  comparison: Comparison,
): Promise<void> {
  for (let at = 0; at < ranges.length; at += RANGES_AT_ONCE) {
    await compare(ranges.slice(at, at + RANGES_AT_ONCE), comparison);
  }
}

async function compare(ranges: readonly UnsettledRange[], comparison: Comparison): Promise<void> {
  const { countPending, waitForSettlings, onSettledElsewhere } = comparison;
  const pending = await countPending(ranges.map(({ from, to }) => ({ from, to })));
  if (pending >= unsettledOf(ranges)) return;
  await waitForSettlings();
  // Counted again: this process may have settled messages since the query. These must not count as settled elsewhere,
  // so some that were settled elsewhere are found only by the next query.
  const known = unsettledOf(ranges);
  if (pending >= known) return;
  if (pending === 0) {
    for (const range of ranges) onSettledElsewhere(range, range.unsettled);
  } else if (ranges.length === 1) {
    onSettledElsewhere(ranges[0] as UnsettledRange, known - pending);
  } else {
    const middle = Math.floor(ranges.length / 2);
    await compare(ranges.slice(0, middle), comparison);
    await compare(ranges.slice(middle), comparison);
  }
}

const unsettledOf = (ranges: readonly UnsettledRange[]): number =>
  ranges.reduce((sum, { unsettled }) => sum + unsettled, 0);
