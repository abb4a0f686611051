import { onAbort } from './on-abort.ts';
import { realTimers } from './real-timers.ts';

/** Time as an argument: everything that waits or reads the time uses one of these. */
export interface Clock extends Waits {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never jumps. Only differences are meaningful. */
  monotonicMs(): number;
  /** See {@link StartTimer}. */
  readonly startTimer: StartTimer;
}

/**
 * Calls `callback` after `ms`. Returns a function that cancels the call; after the call it does nothing. Only a
 * timer with `'ref'` keeps the process alive.
 */
export type StartTimer = (
  ms: number,
  callback: () => void,
  reference: 'ref' | 'unref',
) => () => void;

interface Waits {
  /** Resolves after `ms`, or when `signal` is aborted. Never rejects. Keeps the process alive. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Like `sleep`, but does not keep the process alive. */
  readonly sleepUnref: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Creates the waits of a clock from its timers. Many waits may share one signal. */
export function waitsOf(startTimer: StartTimer): Waits {
  const wait = (
    ms: number,
    signal: AbortSignal | undefined,
    reference: 'ref' | 'unref',
  ): Promise<void> =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const finish = (): void => {
        cancel();
        stopListening?.();
        resolve();
      };
      const cancel = startTimer(ms, finish, reference);
      const stopListening = signal && onAbort(signal, finish);
    });
  return {
    sleep: (ms, signal) => wait(ms, signal, 'ref'),
    sleepUnref: (ms, signal) => wait(ms, signal, 'unref'),
  };
}

const startTimer: StartTimer = (ms, callback, reference) => {
  const timer = realTimers.setTimeout(callback, ms);
  if (reference === 'unref') timer.unref();
  return () => realTimers.clearTimeout(timer);
};

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: realTimers.monotonicMs,
  startTimer,
  ...waitsOf(startTimer),
};
