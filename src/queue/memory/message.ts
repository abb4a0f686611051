import { Claimed, Stored } from '../message-classes.ts';
import type {
  ClaimedMessage,
  Format,
  Json,
  MessageResult,
  QueueEntry,
  StoredMessage,
} from '../queue.ts';

/** Messages that share a buffer keep all of it alive, so it is bounded. */
const MAX_SHARED_BYTES = 100_000;
/** Fewer messages take less memory as strings than in a shared buffer. */
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
  /** When it was accepted or replayed. In the queue's own time, like `dueMs`. */
  acceptedMs = 0;
  dueMs = 0;
  /** Raised by a claim, lowered by its release. */
  sends = 0;
  /** Maximum number of messages in a claim with this one. */
  maxMessages: number | undefined = undefined;
  retryState: Json | null = null;

  constructor({ stored, sizeBytes }: QueueEntry, content: Buffer | string) {
    this.messageId = stored.messageId;
    this.format = stored.format;
    this.content = content;
    this.dateAt = stored.dateAt;
    this.countAt = stored.countAt;
    this.sizeBytes = sizeBytes;
  }

  /** Begins the wait of a new message or of a replayed dead letter, which keeps its `sends`. */
  startWaiting(sequence: number, acceptedMs: number, dueMs: number): void {
    this.sequence = sequence;
    this.acceptedMs = acceptedMs;
    this.dueMs = dueMs;
    this.maxMessages = undefined;
    this.retryState = null;
  }

  postpone(result: Extract<MessageResult, { readonly kind: 'retry' }>, dueMs: number): void {
    this.dueMs = dueMs;
    this.maxMessages = result.maxMessages;
    this.retryState = result.retryState;
  }

  /** Copies its bytes out of the shared buffer, so that it no longer keeps the buffer alive. */
  detach(): void {
    if (typeof this.content !== 'string') this.content = this.content.toString('latin1');
  }
}

/** Returns the messages of a claim, which has raised their `sends`. */
export function claimedMessages(
  messages: readonly WaitingMessage[],
  nowMs: number,
): ClaimedMessage[] {
  const stored = storedMessages(messages);
  return messages.map(
    ({ sequence, sends, acceptedMs, retryState }, index) =>
      new Claimed({
        sequence,
        stored: stored[index] as StoredMessage,
        retryCount: sends - 1,
        ageMs: nowMs - acceptedMs,
        retryState,
      }),
  );
}

/** Returns messages with their bytes. Strings are written into one buffer. */
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
