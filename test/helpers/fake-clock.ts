import type { Clock } from '../../src/system/clock.ts';

export interface FakeClock extends Clock {
  /** What was waited by `sleep`, in ms, in order. */
  readonly sleeps: readonly number[];
  /** Likewise by `idle`. */
  readonly idles: readonly number[];
  /** Lets time pass. */
  advance(ms: number): void;
  /** Sets the wall clock alone, as a user or NTP does. */
  setWallClock(ms: number): void;
}

export interface FakeClockOptions {
  /** The wall clock at the start. Default 2026-11-21T10:00:00Z. */
  readonly startMs?: number;
  /** Called at the beginning of each wait: something that happens meanwhile. */
  readonly onSleep?: (ms: number) => void;
  /** How long a timer really lasts; a real one may be early by a fraction. Default: as asked. */
  readonly lasts?: (ms: number) => number;
}

/** A clock on which a wait takes no time: it moves the time instead. */
export function fakeClock(options: FakeClockOptions = {}): FakeClock {
  let wallMs = options.startMs ?? Date.UTC(2026, 10, 21, 10);
  // Another origin than the wall clock's, so that mixing them up shows.
  let monotonicMs = 5_000_000;
  const sleeps: number[] = [];
  const idles: number[] = [];
  const advance = (ms: number): void => {
    wallMs += ms;
    monotonicMs += ms;
  };
  const waitKeptIn =
    (waits: number[]): Clock['sleep'] =>
    (ms, signal) => {
      const isStopped = (): boolean => signal?.aborted === true;
      if (isStopped()) return Promise.resolve();
      waits.push(ms);
      options.onSleep?.(ms);
      if (!isStopped()) advance(options.lasts?.(ms) ?? ms);
      return Promise.resolve();
    };
  return {
    sleeps,
    idles,
    advance,
    setWallClock: (ms) => {
      wallMs = ms;
    },
    now: () => wallMs,
    monotonicMs: () => monotonicMs,
    sleep: waitKeptIn(sleeps),
    idle: waitKeptIn(idles),
  };
}
