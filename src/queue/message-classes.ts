/**
 * What is held of each message as long as its call or its request lasts, as classes. V8 counts by the place of a
 * literal how many of its objects outlive a collection, and once most did, makes all that come of it in the old
 * part of the heap. These are needed for a moment longer than one collection, and there they would keep what they
 * hold, texts of a kilobyte among them, until the whole heap is collected. Delivering took half as long again
 * in processes where that was so, which was every other one. What a class makes is not counted. What is gone by
 * the end of a function, as most literals are, may be one; so may what other queues hold while they wait for I/O.
 *
 * Fields are declared, so that a polluted prototype has no say when they are set.
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

/** A message as a claim shows it. */
export class Claimed implements ClaimedMessage {
  readonly sequence: number;
  readonly stored: StoredMessage;
  readonly sends: number;
  readonly ageMs: number;
  readonly progress: Json | null;

  constructor({ sequence, stored, sends, ageMs, progress }: ClaimedMessage) {
    this.sequence = sequence;
    this.stored = stored;
    this.sends = sends;
    this.ageMs = ageMs;
    this.progress = progress;
  }
}
