import { type Clock, systemClock } from '../../src/system/clock.ts';

const abortionOf = (signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) resolve();
    else signal?.addEventListener('abort', () => resolve(), { once: true });
  });

/**
 * The system's clock, but a wait of so many ms begins only when `begun(ms)` is over: a deadline that
 * is to be reached after something else has happened must not be reached before it where the
 * machine stands still for a moment.
 */
export const clockSince = (begun: (ms: number) => Promise<unknown>): Clock => ({
  ...systemClock,
  sleep: async (ms, signal) => {
    await Promise.race([begun(ms), abortionOf(signal)]);
    await systemClock.sleep(ms, signal);
  },
});
