import type { Clock } from './clock.ts';

/** Of the event loop's time, in each turn: a little for this, the rest for the host (D80). */
const SLICE_MS = 4;

/** Of the works that wait, so many go on before it is asked again whether time is left. */
const WORKS_AT_ONCE = 16;

/** Of one work, where more comes in than goes out. */
const PIECES_PER_TURN = 128;

/** Asked between two pieces of long work; what it gives is awaited. Most of the time it is nothing. */
export type YieldToEventLoop = () => Promise<void> | undefined;

/**
 * For long work in pieces that must not hold the event loop (D80): what this gives back is awaited
 * between two of them. However many works share it, they have 4 ms of a turn together, and take
 * turns; the first call in a turn begins them.
 */
export function createYield(clock: Pick<Clock, 'monotonicMs'>): YieldToEventLoop {
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
    // In the same turn: where each turn of a host brings more works than these, more and more would wait, however little
    // time they take. By a tick that a microtask asks for: that comes once these have done what they can do at
    // once, and all promises that they await on the way; a tick asked for here would come before.
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
 * For one long work that brings in what is taken away meanwhile: where that falls behind, it also gives way after so
 * many pieces, however short they were. Taking away needs turns of the event loop more than time, and what
 * waits needs memory, which costs time again.
 */
export function yieldAlsoWhenBehind(
  yieldToEventLoop: YieldToEventLoop,
  isBehind: () => boolean,
): YieldToEventLoop {
  let pieces = 0;
  return () => {
    pieces += 1;
    return pieces % PIECES_PER_TURN === 0 && isBehind()
      ? nextTurn().then(yieldToEventLoop)
      : yieldToEventLoop();
  };
}

/** Resolves after what is already waiting for this turn of the event loop; no time is waited for. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
