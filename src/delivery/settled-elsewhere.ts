/** Finds messages that another process has settled: the queue counts fewer of a range than we do. */
import type { SequenceRange } from '../queue/queue.ts';

export type CountPending = (ranges: readonly SequenceRange[]) => Promise<number>;

/** A range, and how many of its messages are not settled as far as this sender knows. */
export interface ComparedRange extends SequenceRange {
  readonly unsettled: number;
}

export interface Comparison<R extends ComparedRange> {
  readonly countPending: CountPending;
  /** Tells, after each answer, whether it can be compared with what is known here. */
  readonly isComparable: () => boolean;
  /** Also finds some of the messages of a range; else only ranges without a message left. */
  readonly isExact: boolean;
  /** Is called for each range in which `count` messages are settled. */
  readonly onSettled: (range: R, count: number) => void;
}

/** Ranges in one question, so that its parameters stay small. */
const RANGES_AT_ONCE = 1000;

/**
 * Asks for all ranges together, and for halves of them where messages are gone. Ends early if an answer
 * cannot be compared. Rejects with what `countPending` rejects with.
 */
export async function compareRanges<R extends ComparedRange>(
  ranges: readonly R[],
  comparison: Comparison<R>,
): Promise<void> {
  for (let at = 0; at < ranges.length; at += RANGES_AT_ONCE) {
    const isOver = !(await compare(ranges.slice(at, at + RANGES_AT_ONCE), comparison));
    if (isOver) return;
  }
}

/** Resolves to false if an answer cannot be compared. */
async function compare<R extends ComparedRange>(
  ranges: readonly R[],
  comparison: Comparison<R>,
): Promise<boolean> {
  const { countPending, isComparable, isExact, onSettled } = comparison;
  const pending = await countPending(ranges.map(({ from, to }) => ({ from, to })));
  if (!isComparable()) return false;
  const known = ranges.reduce((sum, { unsettled }) => sum + unsettled, 0);
  if (pending >= known) return true;
  if (pending === 0) {
    for (const range of ranges) onSettled(range, range.unsettled);
    return true;
  }
  const [only] = ranges;
  if (only !== undefined && ranges.length === 1) {
    if (isExact) onSettled(only, known - pending);
    return true;
  }
  const middle = Math.floor(ranges.length / 2);
  return (
    (await compare(ranges.slice(0, middle), comparison)) &&
    (await compare(ranges.slice(middle), comparison))
  );
}
