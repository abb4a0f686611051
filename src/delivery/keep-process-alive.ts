import type { Clock } from '../runtime/clock.ts';
import { NOT_NEEDED } from '../runtime/not-needed.ts';

/** The longest wait that a timer of Node's can hold. */
const LONG_MS = 2 ** 31 - 1;

/**
 * Keeps the process alive until the function handed back is called: waiting for a retry never does,
 * except while somebody waits for the end of it (D80).
 */
export function hold(clock: Clock): () => void {
  const letGo = new AbortController();
  const keep = async (): Promise<void> => {
    while (!letGo.signal.aborted) await clock.sleep(LONG_MS, letGo.signal);
  };
  void keep();
  return () => letGo.abort(NOT_NEEDED);
}
