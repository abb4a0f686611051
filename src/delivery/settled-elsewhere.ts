/** Finds messages that another process has settled: the queue counts fewer of a range than we do. */
import type { SequenceRange } from '../queue/queue.ts';

export type CountPending = (ranges: readonly SequenceRange[]) => Promise<number>;

/** A range, and how many of its messages are not settled as far as this sender knows. */
export interface ComparedRange extends SequenceRange {
  readonly unsettled: number;
}

export interface Comparison<R extends ComparedRange> {
  readonly countPending: CountPending;
  /** Returns a number that changes whenever a message is settled here. */
  readonly version: () => number;
  /** Whether the queue may have settled messages that this sender has not counted yet. */
  readonly isSettling: () => boolean;
  /** Resolves when everything has been counted that is being settled here now. */
  readonly settled: () => Promise<void>;
  /** Called for each range in which another process has settled `count` messages. */
  readonly onSettled: (range: R, count: number) => void;
}

/** Ranges in one question, so that its parameters stay small. */
const RANGES_AT_ONCE = 1000;

/**
 * Asks for all ranges together, and for halves of them where messages are gone. Finds each range without a
 * message left, however busy this sender is; a part of a range only if nothing was settled here during
 * the question. Rejects with what `countPending` rejects with.
 */
export async function compareRanges<R extends ComparedRange>(
  ranges: readonly R[],
  comparison: Comparison<R>,
): Promise<void> {
  for (let at = 0; at < ranges.length; at += RANGES_AT_ONCE) {
    await compare(ranges.slice(at, at + RANGES_AT_ONCE), comparison);
  }
}

async function compare<R extends ComparedRange>(
  ranges: readonly R[],
  comparison: Comparison<R>,
): Promise<void> {
  const { countPending, version, isSettling, settled, onSettled } = comparison;
  const versionBefore = version();
  const pending = await countPending(ranges.map(({ from, to }) => ({ from, to })));
  if (pending === 0) {
    // What was settled here is not another's: it is counted first.
    await settled();
    for (const range of ranges) onSettled(range, range.unsettled);
    return;
  }
  const known = ranges.reduce((sum, { unsettled }) => sum + unsettled, 0);
  if (pending >= known) return;
  const [only] = ranges;
  if (only === undefined || ranges.length > 1) {
    const middle = Math.floor(ranges.length / 2);
    await compare(ranges.slice(0, middle), comparison);
    await compare(ranges.slice(middle), comparison);
    return;
  }
  if (!isSettling() && version() === versionBefore) onSettled(only, known - pending);
}
