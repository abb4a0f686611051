/** Ends one attempt early: at its deadlines, or when the poster is closed. */
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

/** Made of timers and flags; an AbortSignal, as expensive as a request's headers, is created on first use. */
export class AttemptLimits {
  readonly #cancelHeaders: () => void;
  readonly #cancelTotal: () => void;
  #reached: Failure | undefined;
  #interrupt: ((reached: Failure) => void) | undefined;
  #controller: AbortController | undefined;

  /** Starts the deadlines. */
  constructor(clock: Clock, { headersMs, totalMs }: Deadlines) {
    const start = (code: 'headers-timeout' | 'deadline', ms: number): (() => void) =>
      clock.startTimer(ms, () => this.reach(failure(code, `${ms} ms`)), 'keep-alive');
    this.#cancelHeaders = start('headers-timeout', headersMs);
    this.#cancelTotal = start('deadline', totalMs);
  }

  /** The limit that was reached first. */
  get reached(): Failure | undefined {
    return this.#reached;
  }

  /** Waits for `work`, but no longer than until a limit is reached. */
  race<T>(work: Promise<T>): Promise<T | Failure> {
    return new Promise<T | Failure>((resolve, reject) => {
      this.#interrupt = resolve;
      if (this.#reached === undefined) work.then(resolve, reject);
      else resolve(this.#reached);
    });
  }

  /** Aborted when a limit is reached; for a dispatcher of the host. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reached !== undefined) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Ends the attempt with a failure. The first failure counts. */
  reach(limit: Failure): void {
    this.#reached ??= limit;
    this.#interrupt?.(this.#reached);
    this.#controller?.abort();
  }

  /** Ends the header deadline. */
  headersArrived(): void {
    this.#cancelHeaders();
  }

  clearTimers(): void {
    this.#cancelHeaders();
    this.#cancelTotal();
  }
}
