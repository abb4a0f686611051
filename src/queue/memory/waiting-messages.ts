/** The waiting messages of one application, by due time and sequence. */
import { Heap } from '../../runtime/heap.ts';
import { Claimed, Stored } from '../message-classes.ts';
import type {
  ApplicationState,
  ClaimedMessage,
  Format,
  Json,
  MessageResult,
  QueueEntry,
  StoredMessage,
} from '../queue.ts';
import { Fifo } from './fifo.ts';

/** When a message was accepted or replayed, in the queue's own time. */
interface Entry {
  readonly sequence: number;
  readonly nowMs: number;
  readonly dueMs: number;
}

/** Messages that share a buffer keep all of it alive, so it is bounded. */
const MAX_SHARED_BYTES = 100_000;
/** Fewer messages need less memory as strings. */
const MIN_SHARING = 4;

/**
 * A message that waits or is claimed. Its bytes are a part of a buffer that it shares with messages that were
 * accepted with it, or a string of one-byte characters: a Buffer of its own costs 200 bytes more.
 */
export class WaitingMessage {
  readonly messageId: string;
  readonly format: Format;
  content: Buffer | string;
  readonly dateAt: number;
  readonly countAt: number;
  readonly sizeBytes: number;
  sequence = 0;
  acceptedMs = 0;
  dueMs = 0;
  /** Raised by a claim, lowered by its release. */
  sends = 0;
  /** Maximum size of a claim with this message. */
  maxMessages: number | undefined = undefined;
  progress: Json | null = null;

  constructor({ stored, sizeBytes }: QueueEntry, content: Buffer | string) {
    this.messageId = stored.messageId;
    this.format = stored.format;
    this.content = content;
    this.dateAt = stored.dateAt;
    this.countAt = stored.countAt;
    this.sizeBytes = sizeBytes;
  }

  /** Starts it as a new message. A replayed dead letter keeps its `sends`. */
  enter({ sequence, nowMs, dueMs }: Entry): void {
    this.sequence = sequence;
    this.acceptedMs = nowMs;
    this.dueMs = dueMs;
    this.maxMessages = undefined;
    this.progress = null;
  }

  /** Writes a `retry` result. */
  postpone(result: Extract<MessageResult, { readonly kind: 'retry' }>, dueMs: number): void {
    this.dueMs = dueMs;
    this.maxMessages = result.maxMessages;
    this.progress = result.progress;
  }

  /** Copies its bytes out of the shared buffer, so that it no longer keeps the buffer alive. */
  detach(): void {
    if (typeof this.content !== 'string') this.content = this.content.toString('latin1');
  }
}

/** Shows messages whose `sends` a claim has raised. */
export function claimedMessages(
  messages: readonly WaitingMessage[],
  nowMs: number,
): ClaimedMessage[] {
  const stored = storedMessages(messages);
  return messages.map((message, index) => {
    const { sequence, progress } = message;
    const ageMs = nowMs - message.acceptedMs;
    const sends = message.sends - 1;
    return new Claimed({
      sequence,
      stored: stored[index] as StoredMessage,
      sends,
      ageMs,
      progress,
    });
  });
}

/** Shows messages with their bytes. Strings are written into one buffer. */
export function storedMessages(messages: readonly WaitingMessage[]): StoredMessage[] {
  let length = 0;
  for (const { content } of messages) length += typeof content === 'string' ? content.length : 0;
  const buffer = Buffer.allocUnsafeSlow(length);
  let end = 0;
  return messages.map(({ messageId, format, content, dateAt, countAt }) => {
    const start = end;
    if (typeof content === 'string') end += buffer.write(content, start, 'latin1');
    const bytes = typeof content === 'string' ? buffer.subarray(start, end) : content;
    return new Stored({ messageId, format, bytes, dateAt, countAt });
  });
}

/**
 * Copies `entries[start]` and the entries of the same application that follow it: the bytes of the caller
 * may be a small part of a large buffer.
 */
export function copyMessages(entries: readonly QueueEntry[], start: number): WaitingMessage[] {
  const { applicationId } = entries[start] as QueueEntry;
  let length = 0;
  let end = start;
  for (; end < entries.length; end += 1) {
    const { applicationId: id, stored } = entries[end] as QueueEntry;
    const isFull = end > start && length + stored.bytes.length > MAX_SHARED_BYTES;
    if (id !== applicationId || isFull) break;
    length += stored.bytes.length;
  }
  const isShared = end - start >= MIN_SHARING;
  const buffer = Buffer.allocUnsafeSlow(isShared ? length : 0);
  let at = 0;
  return entries.slice(start, end).map((entry) => {
    const { bytes } = entry.stored;
    if (!isShared) return new WaitingMessage(entry, bytes.toString('latin1'));
    buffer.set(bytes, at);
    at += bytes.length;
    return new WaitingMessage(entry, buffer.subarray(at - bytes.length, at));
  });
}

function isDueBefore(message: WaitingMessage, other: WaitingMessage): boolean {
  if (message.dueMs !== other.dueMs) return message.dueMs < other.dueMs;
  return message.sequence < other.sequence;
}

/** Bounds of one claim. */
export type ClaimLimits = Pick<ApplicationState, 'maxMessages' | 'maxBytes'>;

/**
 * Most messages are due in the order of their acceptance and wait in a list. The others are sorted: those
 * that were claimed before, and those that are due before an earlier message with a longer delay.
 */
export class WaitingMessages {
  readonly #inOrder = new Fifo<WaitingMessage>();
  readonly #sorted = new Heap<WaitingMessage>(isDueBefore);
  /** No sorted message waits for the end of its delay after this time. */
  #delayedUntilMs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#inOrder.size + this.#sorted.size;
  }

  first(): WaitingMessage | undefined {
    const inOrder = this.#inOrder.first();
    const sorted = this.#sorted.first();
    if (inOrder === undefined || sorted === undefined) return inOrder ?? sorted;
    return isDueBefore(sorted, inOrder) ? sorted : inOrder;
  }

  shift(): WaitingMessage | undefined {
    const first = this.first();
    return first !== undefined && first === this.#sorted.first()
      ? this.#sorted.shift()
      : this.#inOrder.shift();
  }

  /** Adds a message with the highest sequence so far. */
  append(message: WaitingMessage): void {
    const last = this.#inOrder.last();
    if (last === undefined || last.dueMs <= message.dueMs) {
      this.#inOrder.push(message);
    } else {
      this.#sorted.push(message);
      this.#delayedUntilMs = Math.max(this.#delayedUntilMs, message.dueMs);
    }
  }

  /** Adds a message that waited before. */
  putBack(message: WaitingMessage): void {
    message.detach();
    this.#sorted.push(message);
  }

  /** Makes delayed messages due. Messages that wait for another attempt keep their time. */
  endDelays(nowMs: number): void {
    for (let index = this.#inOrder.size - 1; index >= 0; index -= 1) {
      const message = this.#inOrder.at(index) as WaitingMessage;
      if (message.dueMs <= nowMs) break;
      message.dueMs = nowMs;
    }
    if (this.#delayedUntilMs <= nowMs) return;
    this.#delayedUntilMs = nowMs;
    const isDelayed = ({ sends, dueMs }: WaitingMessage): boolean => sends === 0 && dueMs > nowMs;
    for (const message of this.#sorted.extract(isDelayed, this.#sorted.size)) {
      message.dueMs = nowMs;
      this.#sorted.push(message);
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
    while (taken.length < max) {
      const next = this.shift();
      if (next === undefined) break;
      taken.push(next);
    }
    return taken;
  }

  /** Takes at most `max` messages that were accepted before `acceptedMs`. */
  takeOlder(acceptedMs: number, max: number): WaitingMessage[] {
    const isOlder = (message: WaitingMessage): boolean => message.acceptedMs < acceptedMs;
    const taken = this.#sorted.extract(isOlder, max);
    for (;;) {
      const next = this.#inOrder.first();
      if (next === undefined || taken.length >= max || !isOlder(next)) return taken;
      taken.push(next);
      this.#inOrder.shift();
    }
  }

  *[Symbol.iterator](): Iterator<WaitingMessage> {
    yield* this.#inOrder;
    yield* this.#sorted;
  }
}

/** Messages of one format, at least one, in the order of their due times. */
export interface TakenMessages {
  readonly messages: readonly WaitingMessage[];
  readonly sizeBytes: number;
}
