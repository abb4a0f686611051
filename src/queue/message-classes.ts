/**
 * Messages of a call or a request. They are classes: for each object literal V8 counts how many of its objects
 * survive a garbage collection, and these often survive one. Once most do, V8 allocates all objects of the
 * literal in the old generation, where they keep kilobytes of text alive until a full collection. This happened
 * in every second process, and delivery took 50 % longer there. V8 does not count objects of classes.
 *
 * Literals are fine for objects that only live during a function call, and in queues whose time is spent on I/O.
 *
 * The fields are declared, so that setters on a polluted prototype are not called.
 */
import type { ClaimedMessage, Format, Json, StoredMessage } from './queue.ts';

export class Stored implements StoredMessage {
  readonly messageId: string;
  readonly format: Format;
  readonly bytes: Buffer;
  readonly dateAt: number;
  readonly countAt: number;

  constructor({ messageId, format, bytes, dateAt, countAt }: StoredMessage) {
    this.messageId = messageId;
    this.format = format;
    this.bytes = bytes;
    this.dateAt = dateAt;
    this.countAt = countAt;
  }
}

export class Claimed implements ClaimedMessage {
  readonly sequence: number;
  readonly stored: StoredMessage;
  readonly retryCount: number;
  readonly ageMs: number;
  readonly retryState: Json | null;

  constructor({ sequence, stored, retryCount, ageMs, retryState }: ClaimedMessage) {
    this.sequence = sequence;
    this.stored = stored;
    this.retryCount = retryCount;
    this.ageMs = ageMs;
    this.retryState = retryState;
  }
}
