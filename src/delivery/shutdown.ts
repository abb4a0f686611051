/** From the first message to the last: what is being accepted, `flush` and `close` (D79, D80). */
import { SecurityEventError } from '../errors.ts';
import type { MessageQueue, QueueClosing, ReturnedMessage } from '../queue/queue.ts';
import { deferred } from '../runtime/deferred.ts';
import { onAbort } from '../runtime/on-abort.ts';
import { Underway } from '../runtime/underway.ts';
import type { GiveWay } from '../runtime/yield-to-event-loop.ts';
import type { FlushOptions } from './call-options.ts';
import { Flushes, type FlushParts } from './flushes.ts';
import { hold } from './keep-process-alive.ts';
import { KeptMessage } from './kept-message.ts';
import type { CloseResult, FlushResult } from './sender.ts';
import { inTime, noAnswer } from './with-timeout.ts';

export interface LifecycleParts extends FlushParts {
  readonly queue: MessageQueue;
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

export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #calls = new Underway();
  readonly #flushes: Flushes;
  #callCount = 0;
  #closing: Promise<CloseResult> | undefined;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
    this.#flushes = new Flushes(parts, this.#calls);
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
  flush(options: FlushOptions = {}): Promise<FlushResult> {
    return this.#flushes.flush(options, this.#callCount);
  }

  close(deadlineMs = DEFAULT_CLOSE_MS): Promise<CloseResult> {
    if (this.#closing === undefined) {
      this.#closing = this.#held(this.#close(deadlineMs));
      // A host that does not look at the report must not end for a queue that failed to close (D80).
      this.#closing.catch(() => {});
    }
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<CloseResult> {
    const { tracker, clock, quiet, disconnect, lastFailures } = this.#parts;
    const fates = tracker.tally();
    const untilMs = clock.monotonicMs() + deadlineMs;
    const deadline = new AbortController();
    const done = new AbortController();
    void clock.sleep(deadlineMs, done.signal).then(() => deadline.abort());
    const late = deferred();
    onAbort(deadline.signal, late.resolve);
    try {
      await Promise.race([this.#calls.over(), late.promise]);
      await quiet(untilMs, deadline.signal);
      const { returned, left } = await this.#end(done.signal);
      const kept = await this.#keep(returned);
      const counts = fates();
      const undelivered = counts.dead + counts.discarded + left;
      return { ...counts, returned: kept, left, ...lastFailures.reportOf(undelivered) };
    } finally {
      done.abort();
      // What stays in the queue is another process's to deliver: nobody waits for it here any more,
      // nor for a call that does not end.
      this.#flushes.close();
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
      tracker.settled(message.sequence, 'discarded', 'returned');
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

function asOfClosed(error: unknown): unknown {
  const isOfQueue = error instanceof SecurityEventError && error.code === 'ERR_QUEUE_CLOSED';
  return isOfQueue ? new SecurityEventError('ERR_SENDER_CLOSED', { cause: error }) : error;
}
