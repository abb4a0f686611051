import type { Clock } from '../../system/clock.ts';

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
  process.on('beforeExit', listener);
  return () => {
    process.off('beforeExit', listener);
  };
}
