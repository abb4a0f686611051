/** `flushBeforeExitMs`: waits for pending messages before the process ends. */
import type { Clock } from '../runtime/clock.ts';

export interface BeforeExit {
  /** How long to wait at most, in ms; 0 does nothing. */
  readonly budgetMs: number;
  readonly clock: Clock;
  /** Number of messages accepted so far. */
  readonly acceptedCount: () => number;
  readonly pending: () => number;
  readonly flush: (signal: AbortSignal) => Promise<unknown>;
}

/**
 * Waits for pending messages when the process has nothing else to do. It waits once for the same messages, since Node
 * emits `beforeExit` again after each wait. Returns a function that removes the listener.
 */
export function flushBeforeExit(parts: BeforeExit): () => void {
  const { budgetMs, clock, acceptedCount, pending, flush } = parts;
  if (budgetMs === 0) return () => {};
  let flushedTo = 0;
  const listener = (): void => {
    if (pending() === 0 || acceptedCount() === flushedTo) return;
    flushedTo = acceptedCount();
    const budget = new AbortController();
    const done = new AbortController();
    void clock.sleep(budgetMs, done.signal).then(() => budget.abort());
    void flush(budget.signal).then(() => done.abort());
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

/** Moves the process's limit of listeners, so that ours cause no leak warning on the host's console (D80). 0 is no limit. */
function moveLimit(by: 1 | -1): void {
  const limit = process.getMaxListeners();
  if (limit > 0) process.setMaxListeners(Math.max(1, limit + by));
}
