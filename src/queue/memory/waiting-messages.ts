/** The waiting messages of one application, by due time and sequence. */
import { Heap } from '../../runtime/heap.ts';
import type { ApplicationState } from '../queue.ts';
import type { WaitingMessage } from './message.ts';

/** Bounds of one claim. */
export type ClaimLimits = Pick<ApplicationState, 'maxMessages' | 'maxBytes'>;

/** Messages of one format, at least one, in the order of their due times. */
export interface TakenMessages {
  readonly messages: readonly WaitingMessage[];
  readonly sizeBytes: number;
}

function isDueBefore(message: WaitingMessage, other: WaitingMessage): boolean {
  if (message.dueMs !== other.dueMs) return message.dueMs < other.dueMs;
  return message.sequence < other.sequence;
}

/**
 * Most messages are due when they are accepted. They wait in a list: taking a message from it is four times
 * as fast as from a heap. Messages with a delay, and those that were claimed before, wait in a heap.
 */
export class WaitingMessages {
  #fifo: (WaitingMessage | undefined)[] = [];
  /** Index of the first message of the list; those before it were taken. `Array.shift` would move the others. */
  #head = 0;
  readonly #heap = new Heap<WaitingMessage>(isDueBefore);
  /** The latest end of a delay. */
  #delayedUntilMs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#fifo.length - this.#head + this.#heap.size;
  }

  first(): WaitingMessage | undefined {
    const oldest = this.#fifo[this.#head];
    const earliest = this.#heap.first();
    if (oldest === undefined || earliest === undefined) return oldest ?? earliest;
    return isDueBefore(earliest, oldest) ? earliest : oldest;
  }

  shift(): WaitingMessage | undefined {
    const first = this.first();
    return first === this.#heap.first() ? this.#heap.shift() : this.#shiftFifo();
  }

  #shiftFifo(): WaitingMessage | undefined {
    const first = this.#fifo[this.#head];
    this.#fifo[this.#head] = undefined;
    this.#head += 1;
    const left = this.#fifo.length - this.#head;
    // A new array, so that the memory of a burst is released. It copies no more messages than were taken.
    if (this.#head >= left) {
      this.#fifo = this.#fifo.slice(this.#head);
      this.#head = 0;
    }
    return first;
  }

  /** Adds a message with the highest sequence so far, which is due now or after a delay. */
  append(message: WaitingMessage): void {
    if (message.dueMs <= message.acceptedMs) {
      this.#fifo.push(message);
    } else {
      this.#heap.push(message);
      this.#delayedUntilMs = Math.max(this.#delayedUntilMs, message.dueMs);
    }
  }

  /** Adds a message that was claimed. */
  putBack(message: WaitingMessage): void {
    message.detach();
    this.#heap.push(message);
  }

  /** Makes delayed messages due. Messages that wait for another attempt keep their time. */
  endDelays(nowMs: number): void {
    if (this.#delayedUntilMs <= nowMs) return;
    this.#delayedUntilMs = nowMs;
    const isDelayed = ({ sends, dueMs }: WaitingMessage): boolean => sends === 0 && dueMs > nowMs;
    for (const message of this.#heap.extract(isDelayed, this.#heap.size)) {
      message.dueMs = nowMs;
      this.#heap.push(message);
    }
  }

  /** Takes the messages of one claim, and raises their `sends`. */
  take({ maxMessages: most, maxBytes }: ClaimLimits, nowMs: number): TakenMessages {
    const messages: WaitingMessage[] = [];
    let maxMessages = most;
    let sizeBytes = 0;
    for (;;) {
      const next = this.first();
      if (next === undefined || next.dueMs > nowMs) break;
      maxMessages = Math.min(maxMessages, next.maxMessages ?? maxMessages);
      const isWithin =
        messages.length < maxMessages &&
        sizeBytes + next.sizeBytes <= maxBytes &&
        next.format === messages[0]?.format;
      if (messages.length > 0 && !isWithin) break;
      this.shift();
      next.sends += 1;
      sizeBytes += next.sizeBytes;
      messages.push(next);
    }
    return { messages, sizeBytes };
  }

  takeFirst(max: number): WaitingMessage[] {
    const taken: WaitingMessage[] = [];
    while (taken.length < max && this.size > 0) taken.push(this.shift() as WaitingMessage);
    return taken;
  }

  /** Takes at most `max` messages that were accepted before `acceptedMs`. */
  takeOlder(acceptedMs: number, max: number): WaitingMessage[] {
    const isOlder = (message: WaitingMessage): boolean => message.acceptedMs < acceptedMs;
    const taken = this.#heap.extract(isOlder, max);
    for (;;) {
      const next = this.#fifo[this.#head];
      if (next === undefined || taken.length >= max || !isOlder(next)) return taken;
      taken.push(next);
      this.#shiftFifo();
    }
  }

  *[Symbol.iterator](): Iterator<WaitingMessage> {
    yield* this.#fifo.slice(this.#head) as WaitingMessage[];
    yield* this.#heap;
  }
}
