/** Counts of what is settled, for whoever waits for it: `flush` and `close`. */

import { deferred } from '../runtime/deferred.ts';
import type { Fate } from './early-settlements.ts';

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
