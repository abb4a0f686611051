/** The server's time, of which only what it has stamped is known. */

/** As the server tells it. */
export interface Time {
  now(): number;
  /** What a stamp of the server's means. */
  of(stampMs: number): number;
}

export class ServerTime implements Time {
  readonly #monotonicMs: () => number;
  /** What our monotonic clock is behind the server's. */
  #offsetMs: number | undefined;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  now(): number {
    return this.#monotonicMs() + (this.#offsetMs ?? 0);
  }

  of(stampMs: number): number {
    return stampMs;
  }

  /** It was stamped before now. */
  observe(stampMs: number): void {
    this.#atLeast(stampMs - this.#monotonicMs());
  }

  /** It was stamped between these two moments of our clock: the server's may have been set back. */
  measured(stampMs: number, sentMs: number, answeredMs: number): void {
    this.#atLeast(stampMs - answeredMs);
    const mostMs = stampMs + 1 - sentMs;
    if ((this.#offsetMs ?? 0) > mostMs) this.#offsetMs = mostMs;
  }

  #atLeast(leastMs: number): void {
    if (this.#offsetMs === undefined || this.#offsetMs < leastMs) this.#offsetMs = leastMs;
  }
}
