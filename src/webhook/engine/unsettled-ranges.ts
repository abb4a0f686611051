/** Sequences of a queue as ranges, with the number of unsettled messages in each. */
import type { SequenceRange } from '../../queue/queue.ts';

/** Each sequence in it is, or was, a message of this sender. */
export interface UnsettledRange extends SequenceRange {
  readonly from: number;
  readonly to: number;
  /** Number of its messages that are not settled; at least 1. */
  readonly unsettled: number;
  /** Ranges of different epochs do not merge. */
  readonly epoch: number;
}

type Range = { -readonly [Key in keyof UnsettledRange]: UnsettledRange[Key] };

/** Sorted ranges. A million messages of consecutive sequences take one of them. */
export class UnsettledRanges {
  readonly #ranges: Range[] = [];
  #unsettled = 0;

  /** Number of unsettled messages in all ranges. */
  get unsettled(): number {
    return this.#unsettled;
  }

  /** Number of ranges. */
  get size(): number {
    return this.#ranges.length;
  }

  /** Adds an unsettled message. Merges it with adjacent ranges of the same epoch. */
  add(sequence: number, epoch: number): void {
    this.#unsettled += 1;
    const index = this.#indexAfter(sequence);
    const before = this.#ranges[index - 1];
    const after = this.#ranges[index];
    const joinsBefore = before?.to === sequence - 1 && before.epoch === epoch;
    const joinsAfter = after?.from === sequence + 1 && after.epoch === epoch;
    if (joinsBefore && joinsAfter) {
      before.to = after.to;
      before.unsettled += 1 + after.unsettled;
      this.#ranges.splice(index, 1);
    } else if (joinsBefore) {
      before.to = sequence;
      before.unsettled += 1;
    } else if (joinsAfter) {
      after.from = sequence;
      after.unsettled += 1;
    } else {
      this.#ranges.splice(index, 0, { from: sequence, to: sequence, unsettled: 1, epoch });
    }
  }

  /** Removes a settled message. Returns the range that it was in; `undefined` without one. */
  settle(sequence: number): UnsettledRange | undefined {
    const index = this.#indexAfter(sequence) - 1;
    const range = this.#ranges[index];
    if (range === undefined || range.to < sequence) return undefined;
    this.#reduce(index, 1);
    return range;
  }

  /** Removes `count` messages of a range, whichever they are. */
  remove(range: UnsettledRange, count: number): void {
    this.#reduce(this.#indexAfter(range.from) - 1, count);
  }

  /** Returns the ranges of the epochs before `epoch`. */
  before(epoch: number): UnsettledRange[] {
    return this.#ranges.filter((range) => range.epoch < epoch);
  }

  #reduce(index: number, count: number): void {
    const range = this.#ranges[index] as Range;
    range.unsettled -= count;
    this.#unsettled -= count;
    if (range.unsettled === 0) this.#ranges.splice(index, 1);
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
