import type { Clock } from '../runtime/clock.ts';

export interface BeforeExit {
  /** How long to wait at most, in ms; 0 does nothing. */
  readonly budgetMs: number;
  readonly clock: Clock;
  /** Grows with every message that is accepted. */
  readonly lastNumber: () => number;
  readonly pending: () => number;
  readonly flush: (signal: AbortSignal) => Promise<unknown>;
}

/**
 * When the process has nothing else to do, waits for what is pending, once for each lot of messages:
 * `beforeExit` is told again after every wait. The function handed back takes the listener off.
 */
export function flushBeforeExit(parts: BeforeExit): () => void {
  const { budgetMs, clock, lastNumber, pending, flush } = parts;
  if (budgetMs === 0) return () => {};
  let flushedTo = 0;
  const listener = (): void => {
    if (pending() === 0 || lastNumber() === flushedTo) return;
    flushedTo = lastNumber();
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

/**
 * Of the host's process: our listeners do not count towards Node's leak warning, which would go to
 * the host's console (D80). 0 is no limit.
 */
function moveLimit(by: 1 | -1): void {
  const limit = process.getMaxListeners();
  if (limit > 0) process.setMaxListeners(limit + by);
}
