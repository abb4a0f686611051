/** Waits with a limit, waits that can be ended early, and what keeps the process alive. */

import { SecurityEventError } from '../errors.ts';
import type { Clock } from './clock.ts';
import { deferred } from './deferred.ts';
import { onAbort } from './on-abort.ts';

interface Alarm {
  readonly atMs: number;
  readonly cancel: () => void;
}

/**
 * A wait that is mostly ended early, several times a request. An alarm that is set stays, as long as it
 * is not too late for the next wait: it may end one too soon, which costs less than a timer and a
 * signal for each.
 */
export class WakeableTimer {
  readonly #clock: Clock;
  #alarm: Alarm | undefined;
  #isWoken = false;
  #tell: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether it was woken since {@link begin}. */
  get isWoken(): boolean {
    return this.#isWoken;
  }

  /** From now on a call of `wake` ends the next wait, even before that has begun. */
  begin(): void {
    this.#isWoken = false;
  }

  wake(): void {
    this.#isWoken = true;
    this.#tell?.();
  }

  /** Resolves when it is woken, or after `ms` at the latest. A process with nothing else to do ends meanwhile. */
  async wait(ms: number): Promise<void> {
    if (this.#isWoken) return;
    const { promise, resolve } = deferred();
    this.#tell = resolve;
    this.#setAlarm(this.#clock.monotonicMs() + ms, ms);
    await promise;
    this.#tell = undefined;
  }

  /** Nobody waits any more. */
  end(): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
  }

  #setAlarm(atMs: number, ms: number): void {
    if (this.#alarm !== undefined && this.#alarm.atMs <= atMs) return;
    this.end();
    const ring = (): void => {
      this.#alarm = undefined;
      this.#tell?.();
    };
    this.#alarm = { atMs, cancel: this.#clock.startTimer(ms, ring, 'let-end') };
  }
}

/** The host's own code may be asked, which may never answer; so may a queue whose server is away. */
const MAX_MS = 10_000;

export interface TimeLimit {
  readonly clock: Clock;
  /** Ends the wait, too. */
  readonly signal: AbortSignal;
  /** Default 10 s. */
  readonly ms?: number;
  /** Of many waits for one signal: see {@link listeningTogether}. Default: each listens itself. */
  readonly listen?: (listener: () => void) => () => void;
}

/** What `work` gives, or `undefined` where that takes longer. Its rejection is passed on. */
export async function withTimeout<T>(
  work: Promise<T>,
  limit: TimeLimit,
): Promise<{ readonly value: T } | undefined> {
  const { clock, signal, ms = MAX_MS, listen = (listener) => onAbort(signal, listener) } = limit;
  const late = deferred();
  const letGo = listen(late.resolve);
  const cancel = clock.startTimer(ms, late.resolve, 'let-end');
  try {
    return await Promise.race([
      work.then((value) => ({ value })),
      late.promise.then(() => undefined),
    ]);
  } finally {
    letGo();
    cancel();
  }
}

type Ask<T> = (applicationId: string) => T | Promise<T>;

/** The cause of the error that tells so. */
export const noAnswerError = (ms = MAX_MS): Error => new Error(`no answer within ${ms / 1000} s`);

/**
 * Asks the host while messages come in: what waits for its answer is held in memory, which has to be
 * bounded (D78), and by no bound of the queue's yet.
 *
 * The function it makes rejects like `ask`, with `ERR_SETTINGS_FAILED` where there is no answer, and
 * with `ERR_SENDER_CLOSED` where the sender does not wait for one any more.
 */
export function answeredInTime<T>(
  ask: Ask<T>,
  limit: TimeLimit,
): (applicationId: string) => Promise<T> {
  const { listen = listeningTogether(limit.signal) } = limit;
  return async (applicationId) => {
    const asked = Promise.resolve(ask(applicationId));
    const answer = await withTimeout(asked, { ...limit, listen });
    if (answer !== undefined) return answer.value;
    if (limit.signal.aborted) throw new SecurityEventError('ERR_SENDER_CLOSED');
    const path = ['settings', 'applications', applicationId];
    throw new SecurityEventError('ERR_SETTINGS_FAILED', { path, cause: noAnswerError() });
  };
}

/**
 * One listener on the signal, however many wait: Node compares a new listener with all that are there,
 * so that ten thousand of their own would hold up the host for seconds.
 */
export function listeningTogether(signal: AbortSignal): (listener: () => void) => () => void {
  const listeners = new Set<() => void>();
  let isListening = false;
  return (listener) => {
    listeners.add(listener);
    if (!isListening || signal.aborted) {
      isListening = true;
      onAbort(signal, () => {
        for (const one of listeners) one();
      });
    }
    return () => void listeners.delete(listener);
  };
}

/** The longest wait that a timer of Node's can hold. */
const LONG_MS = 2 ** 31 - 1;

/**
 * Keeps the process alive until the function handed back is called: waiting for a retry never does,
 * except while somebody waits for the end of it (D80).
 */
export function keepProcessAlive(clock: Clock): () => void {
  let cancel: (() => void) | undefined;
  const keep = (): void => {
    cancel = clock.startTimer(LONG_MS, keep, 'keep-alive');
  };
  keep();
  return () => cancel?.();
}
