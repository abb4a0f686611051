/** `flushBeforeExitMs`: waits for pending messages before the process ends. */
import type { Clock } from '../runtime/clock.ts';
import { ignoreRejection } from '../runtime/host-calls.ts';
import type { Tracker } from './tracker.ts';

export interface FlushBeforeExitParts {
  /** Maximum time to wait, in ms; 0 does nothing. */
  readonly flushBeforeExitMs: number;
  readonly clock: Clock;
  readonly tracker: Pick<Tracker, 'acceptedCount' | 'pending'>;
  readonly flush: (signal: AbortSignal) => Promise<unknown>;
}

/**
 * Waits for pending messages when the process has nothing else to do. It waits once for the same messages, since Node
 * emits `beforeExit` again after each wait. Returns a function that removes the listener.
 */
export function flushBeforeExit(parts: FlushBeforeExitParts): () => void {
  const { flushBeforeExitMs, clock, tracker, flush } = parts;
  if (flushBeforeExitMs === 0) return () => {};
  let flushedTo = 0;
  const listener = (): void => {
    if (tracker.pending === 0 || tracker.acceptedCount === flushedTo) return;
    flushedTo = tracker.acceptedCount;
    const deadline = new AbortController();
    const done = new AbortController();
    void clock.sleep(flushBeforeExitMs, done.signal).then(() => deadline.abort());
    // A queue that cannot be opened has rejected the calls of `send`.
    ignoreRejection(flush(deadline.signal).finally(() => done.abort()));
  };
  moveLimit(1);
  process.on('beforeExit', listener);
  let isListening = true;
  return () => {
    if (!isListening) return;
    isListening = false;
    process.off('beforeExit', listener);
    moveLimit(-1);
  };
}

/** Moves the process's limit of listeners, so that ours cause no leak warning (D80). 0 is no limit. */
function moveLimit(by: 1 | -1): void {
  const limit = process.getMaxListeners();
  if (limit > 0) process.setMaxListeners(Math.max(1, limit + by));
}
