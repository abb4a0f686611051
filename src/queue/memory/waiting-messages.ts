/** The waiting messages of one application, by due time and sequence. */
import { Heap } from '../../system/heap.ts';
import { Claimed, Stored } from '../message-classes.ts';
import type {
  ApplicationState,
  ClaimedMessage,
  Json,
  MessageResult,
  QueueEntry,
  StoredMessage,
} from '../queue.ts';
import { Fifo } from './fifo.ts';

/** Messages that share a buffer keep all of it alive, so a buffer is bounded. */
const MAX_SHARED_BYTES = 100_000;

/** When a message was accepted, in the queue's own time. */
export interface Acceptance {
  readonly sequence: number;
  readonly nowMs: number;
  readonly dueMs: number;
}

/** A message that waits or is claimed. */
export class WaitingMessage {
  stored: StoredMessage;
  readonly sizeBytes: number;
  sequence: number;
  acceptedMs: number;
  dueMs: number;
  /** Raised by a claim, lowered by its release. */
  sends = 0;
  /** Maximum size of a claim with this message. */
  maxMessages: number | undefined = undefined;
  progress: Json | null = null;

  constructor(stored: StoredMessage, sizeBytes: number, { sequence, nowMs, dueMs }: Acceptance) {
    this.stored = stored;
    this.sizeBytes = sizeBytes;
    this.sequence = sequence;
    this.acceptedMs = nowMs;
    this.dueMs = dueMs;
  }

  /** Writes a `retry` result. */
  postpone(result: Extract<MessageResult, { readonly kind: 'retry' }>, dueMs: number): void {
    this.dueMs = dueMs;
    this.maxMessages = result.maxMessages;
    this.progress = result.progress;
  }

  /** Makes a dead letter a new message. Its `sends` go on counting. */
  renew({ sequence, nowMs, dueMs }: Acceptance): void {
    this.sequence = sequence;
    this.acceptedMs = nowMs;
    this.dueMs = dueMs;
    this.maxMessages = undefined;
    this.progress = null;
  }

  /** Copies the bytes out of a shared buffer, which then lives no longer than the other messages. */
  detach(): void {
    const { buffer, length } = this.stored.bytes;
    if (length === buffer.byteLength) return;
    this.stored = copyInto(Buffer.allocUnsafeSlow(length), this.stored, 0);
  }

  /** Shows the message in a claim that has raised its `sends`. */
  claimed(nowMs: number): ClaimedMessage {
    const { sequence, stored, progress } = this;
    const ageMs = nowMs - this.acceptedMs;
    return new Claimed({ sequence, stored, sends: this.sends - 1, ageMs, progress });
  }
}

/** Copies a message's bytes to `start` in `buffer`. */
function copyInto(buffer: Buffer, stored: StoredMessage, start: number): StoredMessage {
  const { messageId, format, dateAt, countAt } = stored;
  buffer.set(stored.bytes, start);
  const bytes = buffer.subarray(start, start + stored.bytes.length);
  return new Stored({ messageId, format, bytes, dateAt, countAt });
}

/**
 * Makes waiting messages of `entries[start]` and the entries of the same application that follow it.
 * Their bytes are copied into one buffer: the caller's may be a small part of a larger one.
 */
export function waitingMessages(
  entries: readonly QueueEntry[],
  start: number,
  { sequence, nowMs, dueMs }: Acceptance,
): WaitingMessage[] {
  const { applicationId } = entries[start] as QueueEntry;
  let bufferBytes = 0;
  let end = start;
  for (; end < entries.length; end += 1) {
    const entry = entries[end] as QueueEntry;
    const nextBytes = bufferBytes + entry.stored.bytes.length;
    if (entry.applicationId !== applicationId) break;
    if (end > start && nextBytes > MAX_SHARED_BYTES) break;
    bufferBytes = nextBytes;
  }
  const buffer = Buffer.allocUnsafeSlow(bufferBytes);
  const messages: WaitingMessage[] = [];
  let at = 0;
  for (let index = start; index < end; index += 1) {
    const { stored, sizeBytes } = entries[index] as QueueEntry;
    const acceptance = { sequence: sequence + index - start, nowMs, dueMs };
    messages.push(new WaitingMessage(copyInto(buffer, stored, at), sizeBytes, acceptance));
    at += stored.bytes.length;
  }
  return messages;
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
  /** No message waits for the end of its delay after this time. */
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
    this.#delayedUntilMs = Math.max(this.#delayedUntilMs, message.dueMs);
    const last = this.#inOrder.last();
    if (last === undefined || last.dueMs <= message.dueMs) this.#inOrder.push(message);
    else this.#sorted.push(message);
  }

  /** Adds a message that waited before. */
  putBack(message: WaitingMessage): void {
    message.detach();
    this.#sorted.push(message);
  }

  /** Makes delayed messages due. Messages that wait for another attempt keep their time. */
  endDelays(nowMs: number): void {
    if (this.#delayedUntilMs <= nowMs) return;
    this.#delayedUntilMs = nowMs;
    for (const message of this.#inOrder) message.dueMs = Math.min(message.dueMs, nowMs);
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
        next.stored.format === messages[0]?.stored.format;
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
