import { onAbort } from './on-abort.ts';

/** Time as an argument: everything that waits or reads the time is given one of these. */
export interface Clock extends Waits {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never jumps; only differences mean something. */
  monotonicMs(): number;
  /** See {@link StartTimer}. */
  readonly startTimer: StartTimer;
}

/**
 * Calls `callback` after `ms`. The function handed back cancels it, and does nothing afterwards. `whileIdle`:
 * whether a process that has nothing else to do waits for it, or ends meanwhile (D80).
 */
export type StartTimer = (
  ms: number,
  callback: () => void,
  whileIdle: 'keep-alive' | 'let-end',
) => () => void;

interface Waits {
  /**
   * Resolves after `ms`, or at once when `signal` is aborted (it never rejects). The wait keeps the
   * process alive.
   */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Like `sleep`, but a process that has nothing else to do ends meanwhile (D80). */
  readonly idle: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Makes the waits of a clock from its timers. A signal may be the host's, shared by any number of waits. */
export function waitsOf(startTimer: StartTimer): Waits {
  const wait = (
    ms: number,
    signal: AbortSignal | undefined,
    whileIdle: 'keep-alive' | 'let-end',
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
      const cancel = startTimer(ms, finish, whileIdle);
      const stopListening = signal && onAbort(signal, finish);
    });
  return {
    sleep: (ms, signal) => wait(ms, signal, 'keep-alive'),
    idle: (ms, signal) => wait(ms, signal, 'let-end'),
  };
}

const startTimer: StartTimer = (ms, callback, whileIdle) => {
  const timer = setTimeout(callback, ms);
  if (whileIdle === 'let-end') timer.unref();
  return () => clearTimeout(timer);
};

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  startTimer,
  ...waitsOf(startTimer),
};
