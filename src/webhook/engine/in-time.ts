import type { Clock } from '../../system/clock.ts';
import { onAbort } from '../../system/on-abort.ts';

/** The settings may be asked for in the host's own code, which may never answer. */
const MAX_MS = 10_000;

export interface TimeLimit {
  readonly clock: Clock;
  /** Ends the wait, too. */
  readonly signal: AbortSignal;
}

/** What `work` gives, or `undefined` where that takes longer than 10 s. Its rejection is passed on. */
export async function inTime<T>(work: Promise<T>, limit: TimeLimit): Promise<T | undefined> {
  const { clock, signal } = limit;
  const decided = new AbortController();
  const letGo = onAbort(signal, () => decided.abort());
  const late = clock.idle(MAX_MS, decided.signal).then(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    letGo();
    decided.abort();
  }
}
