/** From the first message to the last: what is being accepted, `flush` and `close` (D79, D80). */
import { SecurityEventError } from '../errors.ts';
import type { MessageQueue, QueueClosing, ReturnedMessage } from '../queue/queue.ts';
import type { Clock } from '../runtime/clock.ts';
import { deferred } from '../runtime/deferred.ts';
import { onAbort } from '../runtime/on-abort.ts';
import { keepProcessAlive, noAnswerError, withTimeout } from '../runtime/timers.ts';
import { Underway } from '../runtime/underway.ts';
import type { YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import { Flushes, type FlushParts } from './flushes.ts';
import type { FlushOptions } from './read-options.ts';
import { type CloseResult, type FlushResult, KeptMessage } from './sender.ts';

export interface ShutdownParts extends FlushParts {
  readonly queue: MessageQueue;
  /** Resolves when nothing is in flight or due before that time, or at the latest when aborted. */
  readonly quiet: (untilMs: number, signal: AbortSignal) => Promise<void>;
  /** Starts nothing more and ends what is in flight; resolves when that is over. */
  readonly stop: () => Promise<void>;
  /** Ends all connections. */
  readonly disconnect: () => Promise<void>;
  readonly yieldToEventLoop: YieldToEventLoop;
}

const DEFAULT_CLOSE_MS = 10_000;

/** What a queue may take to be closed, in ms: it may have much to write, or to hand back. */
const QUEUE_CLOSE_MS = 30_000;

export class Shutdown {
  readonly #parts: ShutdownParts;
  readonly #calls = new Underway();
  readonly #flushes: Flushes;
  #callCount = 0;
  #closing: Promise<CloseResult> | undefined;

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
    this.#flushes = new Flushes(parts, this.#calls);
  }

  /** Runs what may put something into the queue; `flush` and `close` wait for it. */
  async accepting<T>(work: () => Promise<T>): Promise<T> {
    const end = this.begin();
    try {
      return await work();
    } catch (error) {
      throw this.errorFor(error);
    } finally {
      end();
    }
  }

  /** Begins such a call. Returns the function that ends it. Throws `ERR_SENDER_CLOSED` after `close`. */
  begin(): () => void {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_SENDER_CLOSED');
    this.#callCount += 1;
    const call = this.#calls.begin();
    return () => this.#calls.end(call);
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
    await withTimeout(stop(), { clock, signal });
    const closed = await withTimeout(queue.close(), { clock, signal, ms: QUEUE_CLOSE_MS });
    if (closed !== undefined) return closed.value;
    throw new SecurityEventError('ERR_QUEUE_FAILED', { cause: noAnswerError(QUEUE_CLOSE_MS) });
  }

  /** What was not delivered, as it is handed back: everything that waited, so in slices. */
  async #keep(returned: readonly ReturnedMessage[]): Promise<KeptMessage[]> {
    const { tracker, observe, yieldToEventLoop } = this.#parts;
    const kept: KeptMessage[] = [];
    for (const message of returned) {
      tracker.settled(message.sequence, 'discarded', 'returned');
      kept.push(new KeptMessage(message));
      const pause = yieldToEventLoop();
      if (pause !== undefined) await pause;
    }
    const count = kept.length;
    if (count > 0) observe('discarded', () => ({ reason: 'returned', count }));
    return kept;
  }

  /** The process lives until it is over. */
  async #held<T>(work: Promise<T>): Promise<T> {
    const letGo = keepProcessAlive(this.#parts.clock);
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

export interface BeforeExit {
  /** How long to wait at most, in ms; 0 does nothing. */
  readonly budgetMs: number;
  readonly clock: Clock;
  /** Grows with every message that is accepted. */
  readonly lastNumber: () => number;
  readonly pending: () => number;
  readonly flush: (signal: AbortSignal) => Promise<unknown>;
}

/**
 * When the process has nothing else to do, waits for what is pending, once for each lot of messages:
 * `beforeExit` is told again after every wait. The function handed back takes the listener off.
 */
export function flushBeforeExit(parts: BeforeExit): () => void {
  const { budgetMs, clock, lastNumber, pending, flush } = parts;
  if (budgetMs === 0) return () => {};
  let flushedTo = 0;
  const listener = (): void => {
    if (pending() === 0 || lastNumber() === flushedTo) return;
    flushedTo = lastNumber();
    const budget = new AbortController();
    const done = new AbortController();
    void clock.sleep(budgetMs, done.signal).then(() => budget.abort());
    void flush(budget.signal).then(() => done.abort());
  };
  moveLimit(1);
  process.on('beforeExit', listener);
  let isListening = true;
  return () => {
    if (!isListening) return;
    isListening = false;
    process.off('beforeExit', listener);
    moveLimit(-1);
  };
}

/**
 * Of the host's process: our listeners do not count towards Node's leak warning, which would go to
 * the host's console (D80). 0 is no limit.
 */
function moveLimit(by: 1 | -1): void {
  const limit = process.getMaxListeners();
  if (limit > 0) process.setMaxListeners(limit + by);
}
