/** From the first message to the last: what is being accepted, `flush` and `close` (D79, D80). */
import { SecurityEventError } from '../../errors.ts';
import type { MessageQueue, QueueClosing, ReturnedMessage } from '../../queue/queue.ts';
import type { Clock } from '../../system/clock.ts';
import type { GiveWay } from '../../system/giving-way.ts';
import { onAbort } from '../../system/on-abort.ts';
import { Underway } from '../../system/underway.ts';
import { hold } from './hold.ts';
import { inTime, noAnswer } from './in-time.ts';
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
  /** Ends all connections. */
  readonly disconnect: () => Promise<void>;
  readonly giveWay: GiveWay;
}

const DEFAULT_CLOSE_MS = 10_000;

/** What a queue may take to be closed, in ms: it may have much to write, or to hand back. */
const QUEUE_CLOSE_MS = 30_000;

interface Flushing {
  /** How many calls had begun to accept messages when it began. */
  readonly callCount: number;
  /** As far as it is now. */
  readonly counts: () => FlushResult;
  readonly done: Promise<FlushResult>;
  /** The same for callers without a signal, for whom the process is held. */
  held?: Promise<FlushResult>;
  /** Ends it, whatever is left. */
  readonly end: () => void;
  waiters: number;
}

export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #calls = new Underway();
  /** Those that somebody waits for. */
  readonly #flushes = new Set<Flushing>();
  #callCount = 0;
  #flushing: Flushing | undefined;
  #closing: Promise<CloseResult> | undefined;
  #isClosed = false;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  /** Runs what may put something into the queue; `flush` and `close` wait for it. */
  async accepting<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_SENDER_CLOSED');
    this.#callCount += 1;
    const call = this.#calls.begin();
    try {
      return await work();
    } catch (error) {
      throw this.errorFor(error);
    } finally {
      this.#calls.end(call);
    }
  }

  /** What is told of an error of a call that began before `close`, and may have found the queue closed. */
  errorFor(error: unknown): unknown {
    return this.#closing === undefined ? error : asOfClosed(error);
  }

  /** Calls between which nothing was accepted share one promise. After `close` it is over at once. */
  flush(signal?: AbortSignal): Promise<FlushResult> {
    if (this.#flushing?.callCount !== this.#callCount) this.#flushing = this.#startFlush();
    const flushing = this.#flushing;
    if (this.#isClosed) flushing.end();
    if (signal !== undefined) return this.#wait(flushing, this.#untilAborted(flushing, signal));
    flushing.held ??= this.#wait(flushing, flushing.done);
    return flushing.held;
  }

  close(deadlineMs = DEFAULT_CLOSE_MS): Promise<CloseResult> {
    if (this.#closing === undefined) {
      this.#closing = this.#held(this.#close(deadlineMs));
      // A host that does not look at the report must not end for a queue that failed to close (D80).
      this.#closing.catch(() => {});
    }
    return this.#closing;
  }

  #startFlush(): Flushing {
    const { tracker } = this.#parts;
    const { happened: ended, tell: end } = occasion();
    let watch: Watch | undefined;
    const none = { delivered: 0, dead: 0, discarded: 0 };
    const counts = (): FlushResult => watch?.counts() ?? { ...none, pending: tracker.pending };
    const settleAll = async (): Promise<FlushResult> => {
      await Promise.race([this.#calls.over(), ended]);
      watch = tracker.watch();
      await Promise.race([watch.done, ended]);
      watch.end();
      return counts();
    };
    return { callCount: this.#callCount, counts, done: settleAll(), end, waiters: 0 };
  }

  /** Each wait holds the process for itself; after the last one nothing is left of the flush. */
  async #wait(flushing: Flushing, work: Promise<FlushResult>): Promise<FlushResult> {
    flushing.waiters += 1;
    this.#flushes.add(flushing);
    try {
      return await this.#held(work);
    } finally {
      flushing.waiters -= 1;
      if (flushing.waiters === 0) {
        this.#flushes.delete(flushing);
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
    const { tracker, clock, quiet, disconnect } = this.#parts;
    const fates = tracker.tally();
    const untilMs = clock.monotonicMs() + deadlineMs;
    const deadline = new AbortController();
    const done = new AbortController();
    void clock.sleep(deadlineMs, done.signal).then(() => deadline.abort());
    const late = abortOf(deadline.signal);
    try {
      await Promise.race([this.#calls.over(), late.happened]);
      await quiet(untilMs, deadline.signal);
      const { returned, left } = await this.#end(done.signal);
      const kept = await this.#keep(returned);
      return { ...fates(), returned: kept, left };
    } finally {
      done.abort();
      // What stays in the queue is another process's to deliver: nobody waits for it here any more,
      // nor for a call that does not end.
      this.#isClosed = true;
      for (const flushing of this.#flushes) flushing.end();
      tracker.letGo();
      await disconnect();
    }
  }

  /** The server of a queue may be away and never answer: `close` ends all the same (D79). */
  async #end(signal: AbortSignal): Promise<QueueClosing> {
    const { stop, queue, clock } = this.#parts;
    await inTime(stop(), { clock, signal });
    const closed = await inTime(queue.close(), { clock, signal, ms: QUEUE_CLOSE_MS });
    if (closed !== undefined) return closed.value;
    throw new SecurityEventError('ERR_QUEUE_FAILED', { cause: noAnswer(QUEUE_CLOSE_MS) });
  }

  /** What was not delivered, as it is handed back: everything that waited, so in slices. */
  async #keep(returned: readonly ReturnedMessage[]): Promise<KeptMessage[]> {
    const { tracker, observe, giveWay } = this.#parts;
    const kept: KeptMessage[] = [];
    for (const message of returned) {
      tracker.settled(message.origin, 'discarded', 'returned');
      kept.push(new KeptMessage(message));
      const pause = giveWay();
      if (pause !== undefined) await pause;
    }
    const count = kept.length;
    if (count > 0) observe('discarded', () => ({ reason: 'returned', count }));
    return kept;
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

function asOfClosed(error: unknown): unknown {
  const isOfQueue = error instanceof SecurityEventError && error.code === 'ERR_QUEUE_CLOSED';
  return isOfQueue ? new SecurityEventError('ERR_SENDER_CLOSED', { cause: error }) : error;
}
