/** Clocks that delay their timers or record their waits. */
import { type Clock, type StartTimer, systemClock, waitsOf } from '../../src/runtime/clock.ts';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';

/**
 * The system clock, except that timers that keep the process alive start only after `ready(ms)` resolves. A
 * deadline then cannot pass before the event under test, even on a machine that pauses.
 */
export function clockStartingAfter(ready: (ms: number) => Promise<unknown>): Clock {
  const startTimer: StartTimer = (ms, callback, reference) => {
    if (reference === 'unref') return systemClock.startTimer(ms, callback, reference);
    let isCancelled = false;
    let cancel: (() => void) | undefined;
    void ready(ms).then(() => {
      if (!isCancelled) cancel = systemClock.startTimer(ms, callback, reference);
    });
    return () => {
      isCancelled = true;
      cancel?.();
    };
  };
  return { ...systemClock, startTimer, ...waitsOf(startTimer) };
}

export interface RecordingClock extends FakeClock {
  /** Durations passed to `sleep`, in milliseconds, in order. */
  readonly sleeps: readonly number[];
}

export interface RecordingClockOptions {
  /** Called when a wait starts, to do something during the wait. */
  readonly onSleep?: (ms: number) => void;
  /** Returns the actual duration of a wait: real timers may fire early. Default: the requested duration. */
  readonly lasts?: (ms: number) => number;
}

/** A fake clock that records its waits. */
export function recordingClock({ onSleep, lasts }: RecordingClockOptions = {}): RecordingClock {
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
