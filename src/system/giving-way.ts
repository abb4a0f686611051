import type { Clock } from './clock.ts';

/** Of the event loop's time, in each turn: a little for this, the rest for the host (D80). */
const SLICE_MS = 4;

/** Of the works that wait, so many go on in a turn: thousands of small ones are soon over, too. */
const WORKS_PER_TURN = 16;

/** Asked between two pieces of long work; what it gives is awaited. Most of the time it is nothing. */
export type GiveWay = () => Promise<void> | undefined;

/**
 * For long work in pieces that must not hold the event loop (D80): what this gives back is awaited
 * between two of them. However many works share it, they have 4 ms of a turn together, and take
 * turns; the first call in a turn begins them.
 */
export function givingWay(clock: Pick<Clock, 'monotonicMs'>): GiveWay {
  const waiting: (() => void)[] = [];
  let sliceStartedAt: number | undefined;
  const startSlice = (): void => {
    sliceStartedAt = clock.monotonicMs();
    setImmediate(nextSlice);
  };
  const nextSlice = (): void => {
    sliceStartedAt = undefined;
    const next = waiting.splice(0, WORKS_PER_TURN);
    if (next.length > 0) startSlice();
    for (const goOn of next) goOn();
  };
  // Not async: a promise for each of many small pieces costs more than some of them.
  return () => {
    if (sliceStartedAt === undefined) startSlice();
    else if (clock.monotonicMs() - sliceStartedAt >= SLICE_MS) {
      return new Promise<void>((resolve) => waiting.push(resolve));
    }
    return undefined;
  };
}
