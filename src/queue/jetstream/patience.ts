/** A cluster that has just begun, or lost a leader, cannot do for a moment what it can do otherwise. */
import type { Clock } from '../../system/clock.ts';
import { isPassing } from './jetstream-failure.ts';

const PAUSE_MS = 100;

/** So long a new leader may take to come as far as the one before it. */
export const LAG_MS = 1000;

export interface Patience {
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly callTimeoutMs: number;
}

/** Does it again for as long as it fails for such a reason, `callTimeoutMs` at most: it must bear that. */
export async function patiently<T>(
  { clock, callTimeoutMs }: Patience,
  work: () => Promise<T>,
): Promise<T> {
  const endsMs = clock.monotonicMs() + callTimeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || clock.monotonicMs() + PAUSE_MS >= endsMs) throw error;
      await clock.sleep(PAUSE_MS);
    }
  }
}
