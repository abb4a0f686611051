/** Counts calls in progress, and runs `flush` and `close` (D79, D80). */
import { SecurityEventError } from '../errors.ts';
import type { MessageQueue, QueueClosing, ReturnedMessage } from '../queue/queue.ts';
import { CallsInProgress } from '../runtime/calls-in-progress.ts';
import { keepProcessAlive, noAnswerError, withTimeout } from '../runtime/timers.ts';
import type { YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import { Flushes, type FlushParts } from './flushes.ts';
import { type CloseResult, type FlushOptions, type FlushResult, QueuedMessage } from './sender.ts';

export interface LifecycleParts extends FlushParts {
  readonly queue: MessageQueue;
  /** Resolves when nothing is in flight or due before that time, or at the latest when aborted. */
  readonly drain: (untilMs: number, signal: AbortSignal) => Promise<void>;
  /** Stops claiming, and aborts the requests in flight. Resolves when none is left. */
  readonly stop: () => Promise<void>;
  readonly disconnect: () => Promise<void>;
  readonly yieldToEventLoop: YieldToEventLoop;
}

const DEFAULT_CLOSE_MS = 10_000;

/** Maximum time to close the queue, in ms: it may have much to write or to return. */
const QUEUE_CLOSE_MS = 30_000;

export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #calls = new CallsInProgress();
  readonly #flushes: Flushes;
  #closing: Promise<CloseResult> | undefined;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
    this.#flushes = new Flushes(parts, this.#calls);
  }

  /** Runs a call that `flush` and `close` wait for. */
  async runCall<T>(work: () => Promise<T>): Promise<T> {
    const end = this.begin();
    try {
      return await work();
    } catch (error) {
      throw this.errorFor(error);
    } finally {
      end();
    }
  }

  /**
   * Begins a call that `flush` and `close` wait for. Returns the function that ends it. Throws `ERR_SENDER_CLOSED` after
   * `close`.
   */
  begin(): () => void {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_SENDER_CLOSED');
    const call = this.#calls.begin();
    return () => this.#calls.end(call);
  }

  /** Maps `ERR_QUEUE_CLOSED` to `ERR_SENDER_CLOSED` for a call that began before `close`. */
  errorFor(error: unknown): unknown {
    const isOfClosing =
      this.#closing !== undefined &&
      error instanceof SecurityEventError &&
      error.code === 'ERR_QUEUE_CLOSED';
    return isOfClosing ? new SecurityEventError('ERR_SENDER_CLOSED', { cause: error }) : error;
  }

  /**
   * Waits for messages, until `close` has ended at the latest. Calls without a limit share one promise if no other call
   * began between them.
   */
  flush(options: FlushOptions = {}): Promise<FlushResult> {
    return this.#flushes.flush(options);
  }

  close(deadlineMs = DEFAULT_CLOSE_MS): Promise<CloseResult> {
    if (this.#closing === undefined) {
      const release = keepProcessAlive(this.#parts.clock);
      this.#closing = this.#close(deadlineMs).finally(release);
      // A host that ignores the report must not crash because the queue failed to close (D80).
      this.#closing.catch(() => {});
    }
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<CloseResult> {
    const { tracker, clock, drain, disconnect, lastFailures } = this.#parts;
    const untilMs = clock.monotonicMs() + deadlineMs;
    const deadline = new AbortController();
    const done = new AbortController();
    const late = clock.sleep(deadlineMs, done.signal).then(() => deadline.abort());
    try {
      await Promise.race([this.#calls.waitForAll(), late]);
      await drain(untilMs, deadline.signal);
      lastFailures.recordAborted(clock.monotonicMs());
      const closing = await this.#end(done.signal);
      const returned = await this.#reportReturned(closing.returned);
      const { remaining } = closing;
      const counts = tracker.settledCounts;
      const undelivered = counts.dead + counts.discarded + remaining;
      return { ...counts, returned, remaining, ...lastFailures.reportOf(undelivered) };
    } finally {
      done.abort();
      // Other processes deliver what stays in the queue: receipts end as `accepted`. Calls still running are abandoned.
      this.#flushes.close();
      tracker.endFollowed();
      await disconnect();
    }
  }

  /** Stops the dispatch and closes the queue, with time limits: a server may never answer (D79). */
  async #end(signal: AbortSignal): Promise<QueueClosing> {
    const { stop, queue, clock, openFailure } = this.#parts;
    await withTimeout(stop(), { clock, signal });
    const closed = await withTimeout(queue.close(), { clock, signal, ms: QUEUE_CLOSE_MS });
    // It is unknown how many messages remain in a queue that could not be opened.
    const failure = openFailure();
    if (failure !== undefined) throw failure;
    if (closed !== undefined) return closed.value;
    throw new SecurityEventError('ERR_QUEUE_FAILED', { cause: noAnswerError(QUEUE_CLOSE_MS) });
  }

  /** Counts and reports returned messages as discarded. There may be many, so it yields to the event loop. */
  async #reportReturned(messages: readonly ReturnedMessage[]): Promise<QueuedMessage[]> {
    const { tracker, observe, yieldToEventLoop } = this.#parts;
    const returned: QueuedMessage[] = [];
    for (const message of messages) {
      tracker.recordSettled(message.sequence, 'discarded', 'returned');
      returned.push(new QueuedMessage(message));
      await yieldToEventLoop();
    }
    const count = returned.length;
    if (count > 0) observe('discarded', () => ({ reason: 'returned', count }));
    return returned;
  }
}
