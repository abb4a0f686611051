/**
 * Batches calls: those that arrive while a transaction is under way share the next one, so that many
 * small calls share a commit. Full batches do not wait for each other.
 */
import { SecurityEventError } from '../../errors.ts';
import { isAboutValues, isLockTimeout } from './failure.ts';

/** A call with less of its time left does not begin: an early end of its transaction would fail others. */
const MIN_REMAINING = 0.1;

export interface BatcherParts<Call, Result> {
  /** Makes the calls in one transaction. Returns their results in order. */
  readonly run: (calls: readonly Call[], timeoutMs: number) => Promise<readonly Result[]>;
  readonly sizeOf: (call: Call) => number;
  /** Maximum sum of the sizes in a batch, unless a single call has more. */
  readonly maxSize: number;
  /** Only calls with the same key share a batch. */
  readonly keyOf?: (call: Call) => unknown;
  /** Maximum number of batches at the same time. At most one of these is not full. */
  readonly maxBatches: number;
  /** Whether calls that are made at the same time share the first batch, too. Default false. */
  readonly isGathering?: boolean;
  readonly callTimeoutMs: number;
  readonly monotonicMs: () => number;
}

interface Waiting<Call, Result> {
  readonly call: Call;
  readonly size: number;
  readonly key: unknown;
  readonly isAlone: boolean;
  readonly endsAt: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<Call, Result> {
  readonly #parts: BatcherParts<Call, Result>;
  #waiting: Waiting<Call, Result>[] = [];
  #running = 0;
  /** Whether a batch that was not full is under way. */
  #isSharing = false;

  constructor(parts: BatcherParts<Call, Result>) {
    this.#parts = parts;
  }

  async run(call: Call): Promise<Result> {
    const { sizeOf, keyOf, isGathering = false, callTimeoutMs, monotonicMs } = this.#parts;
    const size = sizeOf(call);
    const endsAt = monotonicMs() + callTimeoutMs;
    return await new Promise((resolve, reject) => {
      const waiting = { call, size, key: keyOf?.(call), isAlone: false, endsAt, resolve, reject };
      this.#waiting.push(waiting);
      if (isGathering) queueMicrotask(() => this.#begin());
      else this.#begin();
    });
  }

  #begin(): void {
    while (this.#waiting.length > 0 && this.#running < this.#parts.maxBatches) {
      const { count, isFull } = this.#next();
      if (!isFull && this.#isSharing) return;
      void this.#run(this.#waiting.splice(0, count), isFull);
    }
  }

  #next(): { readonly count: number; readonly isFull: boolean } {
    const { maxSize } = this.#parts;
    const [first] = this.#waiting;
    let size = 0;
    const end = this.#waiting.findIndex((one, index) => {
      size += one.size;
      const isApart = one.isAlone || first?.isAlone === true || one.key !== first?.key;
      return index > 0 && (size > maxSize || isApart);
    });
    if (end !== -1) return { count: end, isFull: true };
    return { count: this.#waiting.length, isFull: size >= maxSize || first?.isAlone === true };
  }

  async #run(batch: readonly Waiting<Call, Result>[], isFull: boolean): Promise<void> {
    this.#running += 1;
    if (!isFull) this.#isSharing = true;
    await this.#runInTime(batch);
    this.#running -= 1;
    if (!isFull) this.#isSharing = false;
    this.#begin();
  }

  async #runInTime(batch: readonly Waiting<Call, Result>[]): Promise<void> {
    const { run, callTimeoutMs, monotonicMs } = this.#parts;
    const now = monotonicMs();
    const minEndsAt = now + callTimeoutMs * MIN_REMAINING;
    const calls = batch.filter(({ endsAt }) => endsAt >= minEndsAt);
    for (const { endsAt, reject } of batch) if (endsAt < minEndsAt) reject(neverMade());
    const [first] = calls;
    if (first === undefined) return;
    try {
      const given = calls.map(({ call }) => call);
      const results = await run(given, first.endsAt - now);
      for (const [index, { resolve }] of calls.entries()) resolve(results[index] as Result);
    } catch (error) {
      const isOneCalls = calls.length > 1 && isOfOneCall(error);
      if (isOneCalls) this.#waiting.unshift(...calls.map((one) => ({ ...one, isAlone: true })));
      else for (const { reject } of calls) reject(error);
    }
  }
}

const neverMade = (): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', {
    detail: 'PostgreSQL did not answer earlier calls in time; this call was not made',
  });

/** One of the calls may be at fault, and the others would succeed. */
const isOfOneCall = (error: unknown): boolean =>
  isAboutValues(error) ||
  isLockTimeout(error) ||
  (error instanceof SecurityEventError && error.code === 'ERR_QUEUE_FULL');

/**
 * Flushes counter deltas after an enqueue, and notifies other processes. One flush is under way at a
 * time, and one more waits for it, however many are requested.
 */
export class CounterFlusher {
  readonly #batcher: Batcher<boolean, boolean>;
  #last: Promise<unknown> | undefined;

  /** `flush` makes one flush, and notifies other processes if its argument says so. */
  constructor(
    flush: (notifies: boolean) => Promise<unknown>,
    times: Pick<BatcherParts<never, never>, 'callTimeoutMs' | 'monotonicMs'>,
  ) {
    this.#batcher = new Batcher({
      ...times,
      run: async (requests) => {
        // A claim finds deltas that remain after a failure, and requests another flush.
        await flush(requests.includes(true)).catch(() => {});
        return requests;
      },
      sizeOf: () => 0,
      maxSize: 1,
      maxBatches: 1,
    });
  }

  /** Requests a flush that begins after this call. `notifies`: other processes are notified. */
  request(notifies: boolean): void {
    this.#last = this.#batcher.run(notifies).catch(() => {});
  }

  /** Resolves when what was requested before this call is flushed or has failed. */
  async done(): Promise<void> {
    await this.#last;
  }
}
