/**
 * How a message waits by itself. Its bytes are a string of one-byte characters: a Buffer costs some 160
 * bytes beside its content where it has memory of its own, and where it lies in Node's pool it holds
 * 8 KiB for as long as it waits, after all its neighbours were delivered.
 */
import { Claimed, Stored } from '../message-classes.ts';
import type {
  ClaimedMessage,
  Format,
  Json,
  MessageResult,
  QueueEntry,
  SequenceRange,
  StoredMessage,
} from '../queue.ts';

/** One flat object: each further one would cost as much again as three fields. */
export interface WaitingMessage {
  readonly messageId: string;
  readonly format: Format;
  /** Latin-1, one character a byte; of one that was looked at within its run, a part of that: {@link keepAlone}. */
  content: string | Buffer;
  readonly dateAt: number;
  readonly countAt: number;
  readonly sizeBytes: number;
  /** Its place among what is due at the same time. */
  sequence: number;
  acceptedMs: number;
  dueMs: number;
  /** Raised by a claim, lowered again by its release. */
  sends: number;
  /** Of a claim that it is part of; `undefined`: no limit of its own. */
  maxMessages: number | undefined;
  progress: Json | null;
}

/** Messages with consecutive sequences that are due at the same time. */
export interface Part extends SequenceRange {
  readonly dueMs: number;
}

export interface Acceptance {
  /** The sequence of the first message. */
  readonly sequence: number;
  readonly nowMs: number;
  readonly dueMs: number;
}

export function waitingMessage(
  { stored, sizeBytes }: QueueEntry,
  { sequence, nowMs, dueMs }: Acceptance,
): WaitingMessage {
  return {
    messageId: stored.messageId,
    format: stored.format,
    content: stored.bytes.toString('latin1'),
    dateAt: stored.dateAt,
    countAt: stored.countAt,
    sizeBytes,
    sequence,
    acceptedMs: nowMs,
    dueMs,
    sends: 0,
    maxMessages: undefined,
    progress: null,
  };
}

/** From now on it waits, or is kept, for itself, and does not hold what came in with it. */
export function keepAlone(message: WaitingMessage): void {
  if (typeof message.content !== 'string') message.content = message.content.toString('latin1');
}

/** Makes a dead letter a new message, whose `sends` go on counting. */
export function renew(message: WaitingMessage, { sequence, nowMs, dueMs }: Acceptance): void {
  message.sequence = sequence;
  message.acceptedMs = nowMs;
  message.dueMs = dueMs;
  message.maxMessages = undefined;
  message.progress = null;
}

/** Writes a `retry` result into the message. */
export function postpone(
  message: WaitingMessage,
  { maxMessages, progress }: Extract<MessageResult, { readonly kind: 'retry' }>,
  dueMs: number,
): void {
  message.dueMs = dueMs;
  message.maxMessages = maxMessages;
  message.progress = progress;
}

/** Shows messages whose `sends` the claim has raised. */
export function claimedMessages(
  messages: readonly WaitingMessage[],
  nowMs: number,
): ClaimedMessage[] {
  const stored = storedMessages(messages);
  return messages.map(
    (message, index) =>
      new Claimed({
        sequence: message.sequence,
        stored: stored[index] as StoredMessage,
        sends: message.sends - 1,
        ageMs: nowMs - message.acceptedMs,
        progress: message.progress,
      }),
  );
}

/** Strings in one Buffer: what is shown together is let go together, unlike what shares Node's pool. */
export function storedMessages(messages: readonly WaitingMessage[]): StoredMessage[] {
  let length = 0;
  for (const { content } of messages) length += typeof content === 'string' ? content.length : 0;
  const all = Buffer.allocUnsafeSlow(length);
  let end = 0;
  return messages.map(({ messageId, format, content, dateAt, countAt }) => {
    const start = end;
    if (typeof content === 'string') end += all.write(content, start, 'latin1');
    const bytes = typeof content === 'string' ? all.subarray(start, end) : content;
    return new Stored({ messageId, format, bytes, dateAt, countAt });
  });
}

export function isDueBefore(message: WaitingMessage, other: WaitingMessage): boolean {
  if (message.dueMs !== other.dueMs) return message.dueMs < other.dueMs;
  return message.sequence < other.sequence;
}
