/** `flush`: waits for messages, and asks the queue now and then which of them another process has settled. */
import type { MessageQueue } from '../queue/queue.ts';
import type { Clock } from '../runtime/clock.ts';
import { deferred } from '../runtime/deferred.ts';
import { cancelWait, onAbort } from '../runtime/on-abort.ts';
import { keepProcessAlive } from '../runtime/timers.ts';
import type { Underway } from '../runtime/underway.ts';
import { errorCodeOf, type Observe } from './events.ts';
import type { FlushOptions } from './read-options.ts';
import type { LastFailures } from './report.ts';
import type { FlushResult } from './sender.ts';
import type { Watch } from './settled-messages.ts';
import type { Tracker } from './tracker.ts';

export interface FlushParts {
  readonly queue: Pick<MessageQueue, 'countPending'>;
  readonly tracker: Tracker;
  readonly lastFailures: LastFailures;
  readonly clock: Clock;
  readonly observe: Observe;
  /** Whether a request is in flight. */
  readonly isInFlight: () => boolean;
}

/** Time between two questions about messages that another process has settled, in ms. */
const QUESTION_INTERVAL_MS = 1000;

/** While requests are in flight here the queue is asked only every tenth time. */
const INTERVALS_IN_FLIGHT = 10;

/** One flush, shared by calls between which nothing was accepted. */
interface SharedFlush {
  /** Number of calls that had begun to accept messages when it began. */
  readonly callCount: number;
  /** Returns the counts at this moment. */
  readonly counts: () => FlushResult;
  readonly done: Promise<FlushResult>;
  /** The promise of all callers without a limit. */
  unlimited: Promise<FlushResult> | undefined;
  /** Ends it, whatever is still pending. */
  readonly end: () => void;
  waiters: number;
}

export class Flushes {
  readonly #parts: FlushParts;
  readonly #calls: Underway;
  /** Those with waiters. */
  readonly #awaited = new Set<SharedFlush>();
  #latest: SharedFlush | undefined;
  #asking: AbortController | undefined;
  #isClosed = false;

  /** `calls` are those that may put messages into the queue. */
  constructor(parts: FlushParts, calls: Underway) {
    this.#parts = parts;
    this.#calls = calls;
  }

  /** Waits for messages. Calls with the same `callCount` and without a limit share one promise. */
  flush({ signal, deadlineMs }: FlushOptions, callCount: number): Promise<FlushResult> {
    if (this.#latest?.callCount !== callCount) this.#latest = this.#start(callCount);
    const flush = this.#latest;
    if (this.#isClosed) flush.end();
    if (signal !== undefined || deadlineMs !== undefined) {
      return this.#wait(flush, this.#untilLimit(flush, { signal, deadlineMs }));
    }
    flush.unlimited ??= this.#wait(flush, flush.done);
    return flush.unlimited;
  }

  /** Ends all, and each that begins later. */
  close(): void {
    this.#isClosed = true;
    for (const flush of this.#awaited) flush.end();
  }

  #start(callCount: number): SharedFlush {
    const { tracker, lastFailures } = this.#parts;
    const { promise: ended, resolve: end } = deferred();
    let watch: Watch | undefined;
    const none = { delivered: 0, dead: 0, discarded: 0, settledElsewhere: 0 };
    // Before the watch begins, everything is pending.
    const counts = (): FlushResult => {
      const result = watch?.counts() ?? { ...none, pending: tracker.awaited };
      const { dead, discarded, pending } = result;
      return { ...result, ...lastFailures.reportOf(dead + discarded + pending) };
    };
    const waitForAll = async (): Promise<FlushResult> => {
      await Promise.race([Promise.all([tracker.opened, this.#calls.over()]), ended]);
      watch = tracker.watch();
      await Promise.race([watch.done, ended]);
      watch.end();
      return counts();
    };
    return { callCount, counts, done: waitForAll(), unlimited: undefined, end, waiters: 0 };
  }

  /** Keeps the process alive while it waits. When the last waiter leaves, the flush ends. */
  async #wait(flush: SharedFlush, work: Promise<FlushResult>): Promise<FlushResult> {
    flush.waiters += 1;
    this.#awaited.add(flush);
    this.#startAsking();
    const release = keepProcessAlive(this.#parts.clock);
    try {
      return await work;
    } finally {
      release();
      flush.waiters -= 1;
      if (flush.waiters === 0) this.#remove(flush);
    }
  }

  #remove(flush: SharedFlush): void {
    this.#awaited.delete(flush);
    flush.end();
    if (this.#latest === flush) this.#latest = undefined;
    if (this.#awaited.size > 0) return;
    if (this.#asking !== undefined) cancelWait(this.#asking);
    this.#asking = undefined;
  }

  async #untilLimit(
    flush: SharedFlush,
    { signal, deadlineMs }: FlushOptions,
  ): Promise<FlushResult> {
    const limit = deferred();
    const over = new AbortController();
    const stopListening = signal === undefined ? () => {} : onAbort(signal, limit.resolve);
    if (deadlineMs !== undefined) {
      void this.#parts.clock.sleep(deadlineMs, over.signal).then(limit.resolve);
    }
    await Promise.race([flush.done, limit.promise]);
    stopListening();
    cancelWait(over);
    return flush.counts();
  }

  #startAsking(): void {
    if (this.#asking !== undefined) return;
    this.#asking = new AbortController();
    void this.#askUntil(this.#asking.signal);
  }

  async #askUntil(over: AbortSignal): Promise<void> {
    const { queue, tracker, clock, observe, isInFlight } = this.#parts;
    for (let intervals = 1; ; intervals += 1) {
      await clock.idle(QUESTION_INTERVAL_MS, over);
      if (over.aborted) return;
      if (isInFlight() && intervals % INTERVALS_IN_FLIGHT !== 0) continue;
      try {
        await tracker.findSettledElsewhere((ranges) => queue.countPending(ranges));
      } catch (error) {
        if (over.aborted) return;
        const retryInMs = QUESTION_INTERVAL_MS;
        observe('queue-failed', () => ({ operation: 'count', retryInMs, ...errorCodeOf(error) }));
      }
    }
  }
}
