/**
 * Flushes counter deltas after an enqueue, and notifies other processes. One flush is under way at a
 * time, and one more waits for it, however many are requested.
 */
export class CounterFlusher {
  readonly #flush: (notifies: boolean) => Promise<unknown>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #notifies = false;

  constructor(flush: (notifies: boolean) => Promise<unknown>) {
    this.#flush = flush;
  }

  /** Requests a flush that begins after this call. `notifies`: other processes are notified. */
  request(notifies: boolean): void {
    this.#notifies ||= notifies;
    this.#next ??= this.#afterRunning();
  }

  /** Resolves when what was requested before this call is flushed or has failed. */
  async done(): Promise<void> {
    await (this.#next ?? this.#running);
  }

  async #afterRunning(): Promise<void> {
    await this.#running;
    const notifies = this.#notifies;
    this.#notifies = false;
    this.#running = this.#next;
    this.#next = undefined;
    // A claim finds the deltas and requests another flush.
    await this.#flush(notifies).catch(() => {});
  }
}
