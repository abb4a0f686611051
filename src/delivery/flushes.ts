/** `flush`: waits for messages, and polls the queue for those that another process has settled. */
import type { SecurityEventError } from '../errors.ts';
import type { MessageQueue } from '../queue/queue.ts';
import type { CallsInProgress } from '../runtime/calls-in-progress.ts';
import type { Clock } from '../runtime/clock.ts';
import { deferred } from '../runtime/deferred.ts';
import { cancelWait, onAbort } from '../runtime/on-abort.ts';
import { keepProcessAlive } from '../runtime/timers.ts';
import { errorCodeOf, type Observe } from './events.ts';
import type { LastFailures } from './report.ts';
import type { FlushOptions, FlushResult } from './sender.ts';
import type { WatchCounts } from './settled-messages.ts';
import type { Tracker } from './tracker.ts';

export interface FlushParts {
  readonly queue: Pick<MessageQueue, 'countPending'>;
  readonly tracker: Tracker;
  readonly lastFailures: LastFailures;
  readonly clock: Clock;
  readonly observe: Observe;
  readonly isDelivering: boolean;
  /** Returns the last error of opening the queue; `undefined` if it is open, or was not used. */
  readonly openFailure: () => SecurityEventError | undefined;
  /** Whether a request is in flight. */
  readonly isInFlight: () => boolean;
}

/** Time between two polls, in ms. */
const POLL_INTERVAL_MS = 1000;

/** Number of intervals between two polls while requests of this sender are in flight. */
const INTERVALS_IN_FLIGHT = 10;

interface SharedFlush {
  /** Number of calls that had begun before it. */
  readonly begunCalls: number;
  readonly result: Promise<FlushResult>;
}

export class Flushes {
  readonly #parts: FlushParts;
  readonly #calls: CallsInProgress;
  /** Functions that end the flushes in progress. */
  readonly #ends = new Set<() => void>();
  /** Shared by calls that have no limit, if no other call of the sender began between them. */
  #latest: SharedFlush | undefined;
  #polling: AbortController | undefined;
  #isClosed = false;

  /** `calls` are those that may put messages into the queue. */
  constructor(parts: FlushParts, calls: CallsInProgress) {
    this.#parts = parts;
    this.#calls = calls;
  }

  flush(limit: FlushOptions): Promise<FlushResult> {
    if (limit.signal !== undefined || limit.deadlineMs !== undefined) return this.#flush(limit);
    const { begunCalls } = this.#calls;
    if (this.#latest?.begunCalls !== begunCalls) {
      const shared: SharedFlush = {
        begunCalls,
        result: this.#flush(limit).finally(() => {
          if (this.#latest === shared) this.#latest = undefined;
        }),
      };
      this.#latest = shared;
    }
    return this.#latest.result;
  }

  /** Ends all flushes, and each that begins later. */
  close(): void {
    this.#isClosed = true;
    for (const end of this.#ends) end();
  }

  /** Keeps the process alive while it waits. */
  async #flush({ signal, deadlineMs }: FlushOptions): Promise<FlushResult> {
    const { clock, lastFailures, tracker, isDelivering, openFailure } = this.#parts;
    const epoch = tracker.startEpoch();
    const { promise: ended, resolve: end } = deferred();
    const over = new AbortController();
    const stopListening = signal === undefined ? undefined : onAbort(signal, end);
    if (deadlineMs !== undefined) void clock.sleep(deadlineMs, over.signal).then(end);
    if (this.#isClosed) end();
    this.#ends.add(end);
    this.#startPolling();
    const release = keepProcessAlive(clock);
    try {
      const counts = await this.#wait(epoch, ended);
      // It is unknown how many messages wait in a queue that could not be opened.
      const failure = isDelivering ? openFailure() : undefined;
      if (failure !== undefined) throw failure;
      const { dead, discarded, pending } = counts;
      const isAwaited = (sequence: number): boolean => tracker.isAwaited(sequence, epoch);
      const unanswered =
        pending === 0 ? [] : lastFailures.pendingAt(clock.monotonicMs(), isAwaited);
      return { ...counts, ...lastFailures.reportOf(dead + discarded + pending, unanswered) };
    } finally {
      release();
      stopListening?.();
      cancelWait(over);
      this.#ends.delete(end);
      if (this.#ends.size === 0) this.#stopPolling();
    }
  }

  /** Resolves to the counts when no message up to the epoch is pending, or when `ended` resolves. */
  async #wait(epoch: number, ended: Promise<void>): Promise<WatchCounts> {
    const { tracker } = this.#parts;
    // How many messages the calls in progress will add is unknown: this one only counts.
    const early = tracker.watch(epoch);
    await Promise.race([Promise.all([tracker.opened, this.#calls.waitForAll()]), ended]);
    tracker.unwatch(early);
    const watch = tracker.watch(epoch);
    await Promise.race([watch.done, ended]);
    tracker.unwatch(watch);
    return sumOf(early.counts, watch.counts);
  }

  #startPolling(): void {
    if (this.#polling !== undefined) return;
    this.#polling = new AbortController();
    void this.#pollUntil(this.#polling.signal);
  }

  #stopPolling(): void {
    if (this.#polling !== undefined) cancelWait(this.#polling);
    this.#polling = undefined;
  }

  async #pollUntil(over: AbortSignal): Promise<void> {
    const { queue, tracker, clock, observe, isInFlight } = this.#parts;
    for (let intervals = 1; ; intervals += 1) {
      await clock.sleepUnref(POLL_INTERVAL_MS, over);
      if (over.aborted) return;
      if (isInFlight() && intervals % INTERVALS_IN_FLIGHT !== 0) continue;
      try {
        await tracker.findSettledElsewhere((ranges) => queue.countPending(ranges));
      } catch (error) {
        if (over.aborted) return;
        const retryInMs = POLL_INTERVAL_MS;
        observe('queue-failed', () => ({ operation: 'count', retryInMs, ...errorCodeOf(error) }));
      }
    }
  }
}

/** Adds what was settled before. */
const sumOf = (early: WatchCounts, late: WatchCounts): WatchCounts => ({
  delivered: early.delivered + late.delivered,
  dead: early.dead + late.dead,
  discarded: early.discarded + late.discarded,
  settledElsewhere: early.settledElsewhere + late.settledElsewhere,
  pending: late.pending,
});
