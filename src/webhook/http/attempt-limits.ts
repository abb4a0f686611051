/** What may end one attempt early: its deadlines (D76), and the poster's end. */
import type { Clock } from '../../runtime/clock.ts';
import { type Failure, failure } from './errors.ts';

/** How long an attempt may take, each from its start, in ms: 1 to 2147483647. */
export interface Deadlines {
  /** Name lookup, TCP and TLS together. Default 5000. */
  readonly connectMs: number;
  /** Until the response headers. Default 15000. */
  readonly headersMs: number;
  /** Until the end of the response body. Default 20000. */
  readonly totalMs: number;
}

/** Timers and flags only: a signal costs as much as the headers of a request, so it is made when it is asked for. */
export class AttemptLimits {
  readonly #cancelHeaders: () => void;
  readonly #cancelTotal: () => void;
  #why: Failure | undefined;
  #interrupt: ((why: Failure) => void) | undefined;
  #controller: AbortController | undefined;

  /** Starts the deadlines. */
  constructor(clock: Clock, { headersMs, totalMs }: Deadlines) {
    const start = (code: 'headers-timeout' | 'deadline', ms: number): (() => void) =>
      clock.startTimer(ms, () => this.reach(failure(code, `${ms} ms`)), 'keep-alive');
    this.#cancelHeaders = start('headers-timeout', headersMs);
    this.#cancelTotal = start('deadline', totalMs);
  }

  /** The limit that was reached. */
  get reached(): Failure | undefined {
    return this.#why;
  }

  /** Waits for work, or for the limit that is reached before. */
  until<T>(work: Promise<T>): Promise<T | Failure> {
    return new Promise<T | Failure>((resolve, reject) => {
      this.#interrupt = resolve;
      if (this.#why === undefined) work.then(resolve, reject);
      else resolve(this.#why);
    });
  }

  /** Aborted when a limit is reached. For who cannot be told otherwise. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#why !== undefined) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Ends the attempt for a reason found on the way. The first reason stands. */
  reach(why: Failure): void {
    this.#why ??= why;
    this.#interrupt?.(this.#why);
    this.#controller?.abort();
  }

  /** The header deadline no longer counts. */
  headersArrived(): void {
    this.#cancelHeaders();
  }

  /** Clears the timers. */
  end(): void {
    this.#cancelHeaders();
    this.#cancelTotal();
  }
}
