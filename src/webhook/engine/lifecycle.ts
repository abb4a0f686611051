/** From the first message to the last: what is being accepted, `flush` and `close` (D79, D80). */
import { SecurityEventError } from '../../errors.ts';
import type { MessageQueue } from '../../queue/queue.ts';
import type { Clock } from '../../system/clock.ts';
import { onAbort } from '../../system/on-abort.ts';
import { hold } from './hold.ts';
import { KeptMessage } from './kept-message.ts';
import type { Observe } from './observe.ts';
import { occasion } from './occasion.ts';
import type { CloseResult, FlushResult } from './sender.ts';
import type { Tracker, Watch } from './tracker.ts';

export interface LifecycleParts {
  readonly queue: MessageQueue;
  readonly tracker: Tracker;
  readonly clock: Clock;
  readonly observe: Observe;
  /** Resolves when nothing is in flight or due before that time, or at the latest when aborted. */
  readonly quiet: (untilMs: number, signal: AbortSignal) => Promise<void>;
  /** Starts nothing more and ends what is in flight; resolves when that is over. */
  readonly stop: () => Promise<void>;
}

const DEFAULT_CLOSE_MS = 10_000;
const MAX_CLOSE_MS = 2 ** 31 - 1;

interface Flushing {
  /** How many calls had begun to accept messages when it began. */
  readonly callCount: number;
  /** As far as it is now. */
  readonly counts: () => FlushResult;
  readonly done: Promise<FlushResult>;
  /** The same for callers without a signal, for whom the process is held. */
  held?: Promise<FlushResult>;
  /** Nobody waits for it any more. */
  readonly end: () => void;
  waiters: number;
}

export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #calls = new Set<Promise<unknown>>();
  /** Of flushes that are not over. */
  readonly #watches = new Set<Watch>();
  #callCount = 0;
  #flushing: Flushing | undefined;
  #closing: Promise<CloseResult> | undefined;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  /** Runs what may put something into the queue; `flush` and `close` wait for it. */
  async accepting<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_SENDER_CLOSED');
    this.#callCount += 1;
    const call = work();
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Calls between which nothing was accepted share one promise. */
  flush(signal?: AbortSignal): Promise<FlushResult> {
    if (this.#flushing?.callCount !== this.#callCount) this.#flushing = this.#startFlush();
    const flushing = this.#flushing;
    if (signal !== undefined) return this.#wait(flushing, this.#untilAborted(flushing, signal));
    flushing.held ??= this.#wait(flushing, flushing.done);
    return flushing.held;
  }

  close(deadlineMs = DEFAULT_CLOSE_MS): Promise<CloseResult> {
    if (!Number.isInteger(deadlineMs) || deadlineMs < 0 || deadlineMs > MAX_CLOSE_MS) {
      const detail = `expected deadlineMs to be an integer from 0 to ${MAX_CLOSE_MS}`;
      const error = new SecurityEventError('ERR_INVALID_OPTION', { detail, path: ['deadlineMs'] });
      return Promise.reject(error);
    }
    if (this.#closing === undefined) {
      this.#closing = this.#held(this.#close(deadlineMs));
      // A host that does not look at the report must not end for a queue that failed to close (D80).
      this.#closing.catch(() => {});
    }
    return this.#closing;
  }

  #startFlush(): Flushing {
    const { tracker } = this.#parts;
    let watch: Watch | undefined;
    let isEnded = false;
    const none = { delivered: 0, dead: 0, discarded: 0 };
    const counts = (): FlushResult => watch?.counts() ?? { ...none, pending: tracker.pending };
    const settleAll = async (): Promise<FlushResult> => {
      await Promise.allSettled(this.#calls);
      if (isEnded) return counts();
      watch = tracker.watch();
      this.#watches.add(watch);
      await watch.done;
      this.#watches.delete(watch);
      return counts();
    };
    const end = (): void => {
      isEnded = true;
      watch?.end();
    };
    return { callCount: this.#callCount, counts, done: settleAll(), end, waiters: 0 };
  }

  /** Each wait holds the process for itself; after the last one nothing is left of the flush. */
  async #wait(flushing: Flushing, work: Promise<FlushResult>): Promise<FlushResult> {
    flushing.waiters += 1;
    try {
      return await this.#held(work);
    } finally {
      flushing.waiters -= 1;
      if (flushing.waiters === 0) {
        flushing.end();
        if (this.#flushing === flushing) this.#flushing = undefined;
      }
    }
  }

  async #untilAborted(flushing: Flushing, signal: AbortSignal): Promise<FlushResult> {
    const abort = abortOf(signal);
    await Promise.race([flushing.done, abort.happened]);
    abort.letGo();
    return flushing.counts();
  }

  async #close(deadlineMs: number): Promise<CloseResult> {
    const { tracker, clock, quiet, stop, queue, observe } = this.#parts;
    const untilMs = clock.monotonicMs() + deadlineMs;
    const deadline = new AbortController();
    const done = new AbortController();
    void clock.sleep(deadlineMs, done.signal).then(() => deadline.abort());
    const late = abortOf(deadline.signal);
    await Promise.race([Promise.allSettled(this.#calls), late.happened]);
    const watch = tracker.watch();
    await quiet(untilMs, deadline.signal);
    await stop();
    done.abort();
    const { returned, left } = await queue.close();
    for (const { origin } of returned) tracker.settled(origin, 'discarded');
    const count = returned.length;
    if (count > 0) observe('discarded', () => ({ reason: 'returned', count }));
    const { delivered, dead, discarded } = watch.counts();
    // What stays in the queue is another process's to deliver: nobody waits for it here any more.
    for (const waiting of this.#watches) waiting.end();
    const messages = returned.map((message) => new KeptMessage(message));
    return { delivered, dead, discarded, returned: messages, left };
  }

  /** The process lives until it is over. */
  async #held<T>(work: Promise<T>): Promise<T> {
    const letGo = hold(this.#parts.clock);
    try {
      return await work;
    } finally {
      letGo();
    }
  }
}

interface Abort {
  readonly happened: Promise<void>;
  readonly letGo: () => void;
}

function abortOf(signal: AbortSignal): Abort {
  const { happened, tell } = occasion();
  return { happened, letGo: onAbort(signal, tell) };
}
