/**
 * Runs calls in batches, each in one transaction. Calls that arrive during a transaction share the next one, so
 * that many small calls share a commit. A full batch does not wait for others.
 */
import { SecurityEventError } from '../../errors.ts';
import { realTimers } from '../../runtime/real-timers.ts';
import { isAboutValues, isLockTimeout } from './failure.ts';

/** A call with a smaller part of its time left does not begin: its timeout would fail the others of its batch. */
const MIN_REMAINING = 0.1;

export interface BatcherParts<Call, Result> {
  /** Runs the calls in one transaction. Returns their results in order. */
  readonly run: (calls: readonly Call[], timeoutMs: number) => Promise<readonly Result[]>;
  readonly sizeOf: (call: Call) => number;
  /** Maximum sum of the sizes in a batch, unless a single call has more. */
  readonly maxSize: number;
  /** Only calls with the same key share a batch. */
  readonly keyOf?: (call: Call) => unknown;
  /** Maximum number of batches at the same time. At most one of them is not full. */
  readonly maxBatches: number;
  /** Whether the first call waits for others that are made in the same tick. Default false. */
  readonly isGathering?: boolean;
  readonly callTimeoutMs: number;
  readonly monotonicMs: () => number;
}

interface Waiting<Call, Result> {
  readonly call: Call;
  readonly size: number;
  readonly key: unknown;
  /** Whether it gets a batch of its own. */
  readonly isSingle: boolean;
  readonly endsAt: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<Call, Result> {
  readonly #parts: BatcherParts<Call, Result>;
  #waiting: Waiting<Call, Result>[] = [];
  #running = 0;
  /** Whether a batch that is not full is running: calls now wait to share the next one. */
  #isSharing = false;

  constructor(parts: BatcherParts<Call, Result>) {
    this.#parts = parts;
  }

  async run(call: Call): Promise<Result> {
    const { sizeOf, keyOf, isGathering = false, callTimeoutMs, monotonicMs } = this.#parts;
    const size = sizeOf(call);
    const endsAt = monotonicMs() + callTimeoutMs;
    return await new Promise((resolve, reject) => {
      const key = keyOf?.(call);
      this.#waiting.push({ call, size, key, isSingle: false, endsAt, resolve, reject });
      if (isGathering) realTimers.queueMicrotask(() => this.#startBatches());
      else this.#startBatches();
    });
  }

  #startBatches(): void {
    while (this.#waiting.length > 0 && this.#running < this.#parts.maxBatches) {
      const { count, isFull } = this.#nextBatch();
      if (!isFull && this.#isSharing) return;
      void this.#run(this.#waiting.splice(0, count), isFull);
    }
  }

  /** Returns the size of the next batch. It is full if no more calls may join it. */
  #nextBatch(): { readonly count: number; readonly isFull: boolean } {
    const { maxSize } = this.#parts;
    const [first] = this.#waiting;
    let size = 0;
    const end = this.#waiting.findIndex((one, index) => {
      size += one.size;
      const isSeparate = one.isSingle || first?.isSingle === true || one.key !== first?.key;
      return index > 0 && (size > maxSize || isSeparate);
    });
    if (end !== -1) return { count: end, isFull: true };
    return { count: this.#waiting.length, isFull: size >= maxSize || first?.isSingle === true };
  }

  async #run(batch: readonly Waiting<Call, Result>[], isFull: boolean): Promise<void> {
    this.#running += 1;
    if (!isFull) this.#isSharing = true;
    await this.#runInTime(batch);
    this.#running -= 1;
    if (!isFull) this.#isSharing = false;
    this.#startBatches();
  }

  async #runInTime(batch: readonly Waiting<Call, Result>[]): Promise<void> {
    const { run, callTimeoutMs, monotonicMs } = this.#parts;
    const now = monotonicMs();
    const minEndsAt = now + callTimeoutMs * MIN_REMAINING;
    const calls = batch.filter(({ endsAt }) => endsAt >= minEndsAt);
    for (const { endsAt, reject } of batch) if (endsAt < minEndsAt) reject(notMadeError());
    const [first] = calls;
    if (first === undefined) return;
    try {
      const results = await run(
        calls.map(({ call }) => call),
        first.endsAt - now,
      );
      for (const [index, { resolve }] of calls.entries()) resolve(results[index] as Result);
    } catch (error) {
      const isOneAtFault = calls.length > 1 && mayBeOfOneCall(error);
      if (isOneAtFault) this.#waiting.unshift(...calls.map((one) => ({ ...one, isSingle: true })));
      else for (const { reject } of calls) reject(error);
    }
  }
}

const notMadeError = (): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', {
    detail: 'PostgreSQL did not answer earlier calls in time; this call was not made',
  });

/** Whether one call may have caused the error, so that the others would succeed without it. */
const mayBeOfOneCall = (error: unknown): boolean =>
  isAboutValues(error) ||
  isLockTimeout(error) ||
  (error instanceof SecurityEventError && error.code === 'ERR_QUEUE_FULL');
