import type { Clock } from './clock.ts';
import { realTimers } from './real-timers.ts';

const { nextTick, queueMicrotask, setImmediate } = realTimers;

/** Our time in each turn of the event loop; the rest is for the host. */
const SLICE_MS = 4;

/** Number of waiters resumed between two checks of the time. */
const WAITERS_PER_CHECK = 16;

/** Maximum number of pieces in a turn while the consumer is behind. */
const PIECES_PER_TURN = 128;

/** Must be called between two pieces of long work, and its promise awaited. Usually returns undefined. */
export type YieldToEventLoop = () => Promise<void> | undefined;

/**
 * Creates a function for long work that must not block the event loop. All tasks that share it get 4 ms
 * of each turn together, and take turns. The first call in a turn starts its slice.
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
    resumeWaiters();
  };
  const isSliceOver = (): boolean =>
    sliceStartedAt === undefined || clock.monotonicMs() - sliceStartedAt >= SLICE_MS;
  const resumeWaiters = (): void => {
    for (const resolve of waiting.splice(0, WAITERS_PER_CHECK)) resolve();
    // Resumes more in the same turn: otherwise a host that starts more tasks per turn would pile them up. The tick
    // is scheduled from a microtask, so that it runs after the resumed tasks and the promises that they await.
    if (waiting.length > 0) queueMicrotask(() => nextTick(resumeInTime));
  };
  const resumeInTime = (): void => {
    if (!isSliceOver()) resumeWaiters();
  };
  // Not async: a promise for each small piece would cost more than the piece.
  return () => {
    if (sliceStartedAt === undefined) startSlice();
    else if (isSliceOver()) {
      return new Promise<void>((resolve) => waiting.push(resolve));
    }
    return undefined;
  };
}

/**
 * For a producer whose consumer may fall behind: then it also yields after PIECES_PER_TURN pieces, even if
 * they were short. A consumer needs turns of the event loop rather than time, and a backlog costs memory.
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

/** Calls back in the next turn of the event loop, after the immediates that are scheduled already. */
export const callInNextTurn = (callback: () => void): void => {
  setImmediate(callback);
};

/** Resolves in the next turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise(callInNextTurn);
