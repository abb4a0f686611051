/** Waits with a time limit, waits that can be ended early, and a way to keep the process alive. */
import { SecurityEventError } from '../errors.ts';
import { MAX_TIMER_MS } from '../option-rules.ts';
import type { Clock } from './clock.ts';
import { deferred } from './deferred.ts';
import { NumberedItems } from './numbered-items.ts';
import { onAbort } from './on-abort.ts';

interface Alarm {
  readonly atMs: number;
  readonly cancel: () => void;
}

/**
 * For waits that usually end early, several times per request. Keeps its timer for the next wait unless
 * that must end sooner. So a wait may end too early, which costs less than a timer and a signal for each.
 */
export class WakeableTimer {
  readonly #clock: Clock;
  #alarm: Alarm | undefined;
  #isWoken = false;
  #endWait: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether it was woken since {@link begin}. */
  get isWoken(): boolean {
    return this.#isWoken;
  }

  /** From now on `wake` ends the next wait, even if it is called before the wait begins. */
  begin(): void {
    this.#isWoken = false;
  }

  wake(): void {
    this.#isWoken = true;
    this.#endWait?.();
  }

  /** Resolves when `wake` is called, or after `ms` at the latest. Does not keep the process alive. */
  async wait(ms: number): Promise<void> {
    if (this.#isWoken) return;
    const { promise, resolve } = deferred();
    this.#endWait = resolve;
    this.#setAlarm(this.#clock.monotonicMs() + ms, ms);
    await promise;
    this.#endWait = undefined;
  }

  /** Cancels the timer, after the last wait. */
  end(): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
  }

  #setAlarm(atMs: number, ms: number): void {
    if (this.#alarm !== undefined && this.#alarm.atMs <= atMs) return;
    this.end();
    const expire = (): void => {
      this.#alarm = undefined;
      this.#endWait?.();
    };
    this.#alarm = { atMs, cancel: this.#clock.startTimer(ms, expire, 'unref') };
  }
}

/** For calls that may never settle: the host's own code, or a queue whose server is unreachable. */
const DEFAULT_LIMIT_MS = 10_000;

interface Timeout {
  readonly clock: Pick<Clock, 'startTimer'>;
  /** Also ends the wait. */
  readonly signal?: AbortSignal;
  /** Default 10 s. */
  readonly ms?: number;
  /** For many waits with one signal: see {@link shareAbortListener}. Default: a listener for each wait. */
  readonly listen?: ((listener: () => void) => () => void) | undefined;
}

/** A time limit whose waits can always be ended early. */
export interface TimeLimit extends Timeout {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Resolves to `{ value }`, or to undefined if `work` takes too long or `signal` is aborted. Rejects like `work`. */
export async function withTimeout<T>(
  work: Promise<T>,
  limit: Timeout,
): Promise<{ readonly value: T } | undefined> {
  const {
    clock,
    signal,
    ms = DEFAULT_LIMIT_MS,
    listen = (listener) => signal && onAbort(signal, listener),
  } = limit;
  const late = deferred();
  const stopListening = listen(late.resolve);
  const cancel = clock.startTimer(ms, late.resolve, 'unref');
  try {
    return await Promise.race([
      work.then((value) => ({ value })),
      late.promise.then(() => undefined),
    ]);
  } finally {
    stopListening?.();
    cancel();
  }
}

type Ask<T> = (applicationId: string) => T | Promise<T>;

/** The cause of the error for a call that took too long. */
export const noAnswerError = (ms = DEFAULT_LIMIT_MS): Error =>
  new Error(`no answer within ${ms / 1000} s`);

/**
 * Returns `ask`, which looks up settings, with a time limit: messages that wait for the host's
 * answer are in memory, and no quota counts them yet.
 *
 * Rejects like `ask`, with `ERR_SETTINGS_FAILED` if the answer takes too long, and with `ERR_SENDER_CLOSED`
 * if the signal is aborted.
 */
export function withSettingsTimeout<T>(
  ask: Ask<T>,
  limit: Timeout,
): (applicationId: string) => Promise<T> {
  const { signal, listen = signal && shareAbortListener(signal) } = limit;
  return async (applicationId) => {
    const asked = Promise.resolve(ask(applicationId));
    const answer = await withTimeout(asked, { ...limit, listen });
    if (answer !== undefined) return answer.value;
    if (signal?.aborted === true) throw new SecurityEventError('ERR_SENDER_CLOSED');
    const path = ['settings', 'applications', applicationId];
    throw new SecurityEventError('ERR_SETTINGS_FAILED', { path, cause: noAnswerError(limit.ms) });
  };
}

/**
 * Shares one listener on the signal among many waits: Node compares a new listener with all existing ones,
 * so ten thousand listeners would block the host for seconds.
 */
export function shareAbortListener(signal: AbortSignal): (listener: () => void) => () => void {
  const listeners = new NumberedItems<() => void>();
  let isListening = false;
  return (listener) => {
    const number = listeners.add(listener);
    if (!isListening || signal.aborted) {
      isListening = true;
      onAbort(signal, () => {
        for (const one of listeners) one();
      });
    }
    return () => void listeners.remove(number);
  };
}

/** Keeps the process alive until the returned function is called. */
export function keepProcessAlive(clock: Clock): () => void {
  let cancel: (() => void) | undefined;
  const keep = (): void => {
    cancel = clock.startTimer(MAX_TIMER_MS, keep, 'ref');
  };
  keep();
  return () => cancel?.();
}
