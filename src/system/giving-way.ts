import type { Clock } from './clock.ts';
import { nextTurn } from './next-turn.ts';

/** Half of what may hold the event loop: the last piece of a slice takes its time, too. */
const SLICE_MS = 10;

/**
 * For long work in pieces: what this gives back is awaited between two of them, and lets the event
 * loop turn once the work has held it for 10 ms (D80).
 */
export function givingWay(clock: Pick<Clock, 'monotonicMs'>): () => Promise<void> {
  let sliceStartedAt = clock.monotonicMs();
  return async () => {
    if (clock.monotonicMs() - sliceStartedAt < SLICE_MS) return;
    await nextTurn();
    sliceStartedAt = clock.monotonicMs();
  };
}
