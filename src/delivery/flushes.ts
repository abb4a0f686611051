/** `flush`: waits for messages, and looks now and then for those that another process has settled. */
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
  /** Tells whether a request is in flight. */
  readonly isInFlight: () => boolean;
}

/** How often the queue is asked what another process has settled, in ms. */
const LOOK_EVERY_MS = 1000;

/** While requests are in flight here it is asked only each tenth time. */
const LOOKS_IN_FLIGHT = 10;

interface Flushing {
  /** Number of calls that had begun to accept messages when it began. */
  readonly callCount: number;
  /** Returns the counts as they are now. */
  readonly counts: () => FlushResult;
  readonly done: Promise<FlushResult>;
  /** The same for callers without a limit, for whom the process is held. */
  held: Promise<FlushResult> | undefined;
  /** Ends it, whatever is left. */
  readonly end: () => void;
  waiters: number;
}

export class Flushes {
  readonly #parts: FlushParts;
  readonly #calls: Underway;
  /** Those that somebody waits for. */
  readonly #awaited = new Set<Flushing>();
  #flushing: Flushing | undefined;
  #looking: AbortController | undefined;
  #isClosed = false;

  /** `calls` are those that may put messages into the queue. */
  constructor(parts: FlushParts, calls: Underway) {
    this.#parts = parts;
    this.#calls = calls;
  }

  /** Waits for messages. Calls with the same `callCount` share one promise, if they have no limit. */
  flush({ signal, deadlineMs }: FlushOptions, callCount: number): Promise<FlushResult> {
    if (this.#flushing?.callCount !== callCount) this.#flushing = this.#start(callCount);
    const flushing = this.#flushing;
    if (this.#isClosed) flushing.end();
    if (signal !== undefined || deadlineMs !== undefined) {
      return this.#wait(flushing, this.#untilLimit(flushing, { signal, deadlineMs }));
    }
    flushing.held ??= this.#wait(flushing, flushing.done);
    return flushing.held;
  }

  /** Ends all, and each that begins later. */
  close(): void {
    this.#isClosed = true;
    for (const flushing of this.#awaited) flushing.end();
  }

  #start(callCount: number): Flushing {
    const { tracker, lastFailures } = this.#parts;
    const { promise: ended, resolve: end } = deferred();
    let watch: Watch | undefined;
    const none = { delivered: 0, dead: 0, discarded: 0, settledElsewhere: 0 };
    const counts = (): FlushResult => {
      const result = watch?.counts() ?? { ...none, pending: tracker.awaited };
      const { dead, discarded, pending } = result;
      return { ...result, ...lastFailures.reportOf(dead + discarded + pending) };
    };
    const settleAll = async (): Promise<FlushResult> => {
      await Promise.race([Promise.all([tracker.opened, this.#calls.over()]), ended]);
      watch = tracker.watch();
      await Promise.race([watch.done, ended]);
      watch.end();
      return counts();
    };
    return { callCount, counts, done: settleAll(), held: undefined, end, waiters: 0 };
  }

  /** Each wait holds the process for itself; after the last one nothing is left of the flush. */
  async #wait(flushing: Flushing, work: Promise<FlushResult>): Promise<FlushResult> {
    flushing.waiters += 1;
    this.#awaited.add(flushing);
    this.#look();
    const letGo = keepProcessAlive(this.#parts.clock);
    try {
      return await work;
    } finally {
      letGo();
      flushing.waiters -= 1;
      if (flushing.waiters === 0) this.#leave(flushing);
    }
  }

  #leave(flushing: Flushing): void {
    this.#awaited.delete(flushing);
    flushing.end();
    if (this.#flushing === flushing) this.#flushing = undefined;
    if (this.#awaited.size > 0) return;
    if (this.#looking !== undefined) cancelWait(this.#looking);
    this.#looking = undefined;
  }

  async #untilLimit(
    flushing: Flushing,
    { signal, deadlineMs }: FlushOptions,
  ): Promise<FlushResult> {
    const limit = deferred();
    const over = new AbortController();
    const letGo = signal === undefined ? () => {} : onAbort(signal, limit.resolve);
    if (deadlineMs !== undefined) {
      void this.#parts.clock.sleep(deadlineMs, over.signal).then(limit.resolve);
    }
    await Promise.race([flushing.done, limit.promise]);
    letGo();
    cancelWait(over);
    return flushing.counts();
  }

  /** Asks as long as somebody waits. */
  #look(): void {
    if (this.#looking !== undefined) return;
    const looking = new AbortController();
    this.#looking = looking;
    void this.#lookUntil(looking.signal);
  }

  async #lookUntil(over: AbortSignal): Promise<void> {
    const { queue, tracker, clock, observe, isInFlight } = this.#parts;
    for (let looks = 1; ; looks += 1) {
      await clock.idle(LOOK_EVERY_MS, over);
      if (over.aborted) return;
      const isDue = looks % LOOKS_IN_FLIGHT === 0 || !isInFlight();
      if (!isDue) continue;
      try {
        await tracker.findSettledElsewhere((ranges) => queue.countPending(ranges));
      } catch (error) {
        if (over.aborted) return;
        const retryInMs = LOOK_EVERY_MS;
        observe('queue-failed', () => ({ operation: 'count', retryInMs, ...errorCodeOf(error) }));
      }
    }
  }
}
