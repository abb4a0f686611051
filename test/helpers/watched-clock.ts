import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';

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
