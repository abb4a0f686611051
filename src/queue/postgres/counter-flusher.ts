import { Batcher, type BatcherParts } from './batcher.ts';

/**
 * Flushes counter deltas (see sql/01-tables.sql) to the rows of their applications, and notifies other processes.
 * However many flushes are requested, one runs and at most one waits.
 */
export class CounterFlusher {
  readonly #batcher: Batcher<boolean, boolean>;
  #last: Promise<unknown> | undefined;

  /** `flush` flushes once. Its argument says whether to notify other processes. */
  constructor(
    flush: (notifies: boolean) => Promise<unknown>,
    times: Pick<BatcherParts<never, never>, 'callTimeoutMs' | 'monotonicMs'>,
  ) {
    this.#batcher = new Batcher({
      ...times,
      run: async (requests) => {
        // Ignores errors: the next claim finds the remaining deltas, and requests another flush.
        await flush(requests.includes(true)).catch(() => {});
        return requests;
      },
      sizeOf: () => 0,
      maxSize: 1,
      maxBatches: 1,
    });
  }

  /** Requests a flush that begins after this call. `notifies`: it notifies other processes. */
  request(notifies: boolean): void {
    this.#last = this.#batcher.run(notifies).catch(() => {});
  }

  /** Resolves when all flushes that were requested before this call have ended. */
  async done(): Promise<void> {
    await this.#last;
  }
}
