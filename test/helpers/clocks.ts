/** Clocks that a test watches or holds back. */
import { type Clock, type StartTimer, systemClock, waitsOf } from '../../src/runtime/clock.ts';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';

/**
 * The system's clock, but a wait of so many ms that keeps the process alive begins only when `begun(ms)` is over: a
 * deadline that is to be reached after something else has happened must not be reached before it where the
 * machine stands still for a moment.
 */
export function clockSince(begun: (ms: number) => Promise<unknown>): Clock {
  const startTimer: StartTimer = (ms, callback, whileIdle) => {
    if (whileIdle === 'let-end') return systemClock.startTimer(ms, callback, whileIdle);
    let isCancelled = false;
    let cancel: (() => void) | undefined;
    void begun(ms).then(() => {
      if (!isCancelled) cancel = systemClock.startTimer(ms, callback, whileIdle);
    });
    return () => {
      isCancelled = true;
      cancel?.();
    };
  };
  return { ...systemClock, startTimer, ...waitsOf(startTimer) };
}

export interface WatchedClock extends FakeClock {
  /** What was waited by `sleep`, in ms, in order. */
  readonly sleeps: readonly number[];
}

export interface WatchedClockOptions {
  /** Called at the beginning of each wait: something that happens meanwhile. */
  readonly onSleep?: (ms: number) => void;
  /** How long a timer really lasts; a real one may be early by a fraction. Default: as asked. */
  readonly lasts?: (ms: number) => number;
}

/** A fake clock that tells how it was waited on. */
export function watchedClock({ onSleep, lasts }: WatchedClockOptions = {}): WatchedClock {
  const clock = createFakeClock();
  const sleep = clock.sleep.bind(clock);
  const sleeps: number[] = [];
  return Object.assign(clock, {
    sleeps,
    sleep: (ms: number, signal?: AbortSignal): Promise<void> => {
      if (signal?.aborted !== true) {
        sleeps.push(ms);
        onSleep?.(ms);
      }
      return sleep(lasts?.(ms) ?? ms, signal);
    },
  });
}
