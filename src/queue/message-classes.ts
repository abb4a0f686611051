/**
 * What is made for each message, as classes. V8 counts by the place of an object's literal how many outlive a
 * collection, and once most did, makes all that come of it in the old part of the heap. Of what is made for a
 * message most is needed while its call lasts, and for nothing a moment later: there it would keep what it
 * holds, texts of a kilobyte among them, alive until the whole heap is collected. Delivering took half as long
 * again in processes where that was so, which was every other one. What a class makes is not counted.
 *
 * Fields are declared, so that a polluted prototype has no say when they are set.
 */
import type { ClaimedMessage } from './queue.ts';
import type { Format, Json, Origin, StoredMessage } from './stored.ts';

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

/** A message's origin, as its sender numbers it. */
export class Numbered implements Origin {
  readonly senderId: string;
  readonly number: number;

  constructor(senderId: string, number: number) {
    this.senderId = senderId;
    this.number = number;
  }
}

/** How a claim shows a message. */
export class Claimed implements ClaimedMessage {
  readonly stored: StoredMessage;
  readonly origin: Origin;
  readonly sends: number;
  readonly ageMs: number;
  readonly progress: Json | null;

  constructor({ stored, origin, sends, ageMs, progress }: Omit<ClaimedMessage, 'moving'>) {
    this.stored = stored;
    this.origin = origin;
    this.sends = sends;
    this.ageMs = ageMs;
    this.progress = progress;
  }
}
