import type { Clock } from './clock.ts';
import { nextTurn } from './next-turn.ts';

/** Of the event loop's time, in each turn: a little for this, the rest for the host (D80). */
const SLICE_MS = 4;

/** Of the works that wait, so many go on before it is asked again whether time is left. */
const WORKS_AT_ONCE = 16;

/** Of one work that goes in step with what is in flight. */
const PIECES_PER_TURN = 128;

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
    if (waiting.length === 0) return;
    startSlice();
    goOn();
  };
  const isSliceOver = (): boolean =>
    sliceStartedAt === undefined || clock.monotonicMs() - sliceStartedAt >= SLICE_MS;
  const goOn = (): void => {
    for (const resolve of waiting.splice(0, WORKS_AT_ONCE)) resolve();
    // In the same turn, once these have done what they can do at once: where a turn of the host brings more works
    // than these, thousands would wait, however little time they take.
    if (waiting.length > 0) queueMicrotask(() => process.nextTick(goOnInTime));
  };
  const goOnInTime = (): void => {
    if (!isSliceOver()) goOn();
  };
  // Not async: a promise for each of many small pieces costs more than some of them.
  return () => {
    if (sliceStartedAt === undefined) startSlice();
    else if (isSliceOver()) {
      return new Promise<void>((resolve) => waiting.push(resolve));
    }
    return undefined;
  };
}

/**
 * For one long work whose pieces make something that is to be taken away meanwhile: it gives way after so many
 * of them, too, however short they were. A request takes some turns of the event loop, and with 4 ms of new
 * messages in each of them more came in than went out, until a hundred thousand waited: the same work took an
 * eighth longer for the memory that those hold.
 */
export function inStep(giveWay: GiveWay): GiveWay {
  let pieces = 0;
  return () => {
    pieces += 1;
    return pieces % PIECES_PER_TURN === 0 ? nextTurn() : giveWay();
  };
}
