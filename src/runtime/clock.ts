import { onAbort } from './on-abort.ts';

/** Time as an argument: everything that waits or reads the time is given one of these. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never jumps; only differences mean something. */
  monotonicMs(): number;
  /**
   * Resolves after `ms`, or at once when `signal` is aborted (it never rejects). The wait keeps the
   * process alive.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Like `sleep`, but a process that has nothing else to do ends meanwhile (D80). */
  idle(ms: number, signal?: AbortSignal): Promise<void>;
}

/** `signal` may be the host's, shared by any number of waits: see {@link onAbort}. */
const wait = (
  start: (finish: () => void) => NodeJS.Timeout,
  signal: AbortSignal | undefined,
): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const finish = (): void => {
      clearTimeout(timer);
      stopListening?.();
      resolve();
    };
    const timer = start(finish);
    const stopListening = signal && onAbort(signal, finish);
  });

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => wait((finish) => setTimeout(finish, ms), signal),
  idle: (ms, signal) => wait((finish) => setTimeout(finish, ms).unref(), signal),
};
