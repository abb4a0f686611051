import { Claimed, Stored } from '../message-classes.ts';
import type { ClaimedMessage, Format, QueueEntry } from '../queue.ts';
import type { Acceptance, WaitingMessage } from './waiting-message.ts';

/** Of one Buffer, which is let go as a whole: so much more may be held than waits, for each application. */
const MAX_BYTES = 100_000;

/** Of fewer a run takes more memory than the messages themselves. */
const MIN_MESSAGES = 4;

/** What it keeps of a message in numbers: these, one after the other. */
const END = 0;
const DATE_AT = 1;
const COUNT_AT = 2;
const SIZE_BYTES = 3;
const NUMBERS = 4;

/**
 * Messages of one application that came in together: their bytes in one Buffer, and no object for each. What was
 * claimed and is not delivered goes on by itself. Most messages are never anything else before they are sent,
 * and what waits is what a collector copies, over and over: of an object and a string for each it
 * took a quarter of what delivering takes.
 */
export class Run {
  readonly format: Format;
  /** The sequence of its first message. */
  readonly sequence: number;
  dueMs: number;
  readonly #acceptedMs: number;
  readonly #messageIds: string[] = [];
  /** Beside the heap, as its bytes: an array of numbers would be copied and read by the collector. */
  readonly #numbers: Float64Array;
  readonly #bytes: Buffer;

  /** Keeps entries of one application and format: see {@link runLength}. */
  constructor(entries: readonly QueueEntry[], { sequence, nowMs, dueMs }: Acceptance) {
    const [{ stored }] = entries as readonly [QueueEntry, ...QueueEntry[]];
    this.format = stored.format;
    this.sequence = sequence;
    this.dueMs = dueMs;
    this.#acceptedMs = nowMs;
    let end = 0;
    for (const entry of entries) end += entry.stored.bytes.length;
    this.#bytes = Buffer.allocUnsafeSlow(end);
    this.#numbers = new Float64Array(entries.length * NUMBERS);
    end = 0;
    let at = 0;
    for (const { stored: one, sizeBytes } of entries) {
      this.#bytes.set(one.bytes, end);
      end += one.bytes.length;
      this.#messageIds.push(one.messageId);
      this.#numbers[at + END] = end;
      this.#numbers[at + DATE_AT] = one.dateAt;
      this.#numbers[at + COUNT_AT] = one.countAt;
      this.#numbers[at + SIZE_BYTES] = sizeBytes;
      at += NUMBERS;
    }
  }

  get size(): number {
    return this.#messageIds.length;
  }

  /** Made anew at each call; its content is a part of the run's. */
  messageAt(index: number): WaitingMessage {
    return {
      messageId: this.#messageIds[index] as string,
      format: this.format,
      content: this.#bytesAt(index),
      dateAt: this.#number(index, DATE_AT),
      countAt: this.#number(index, COUNT_AT),
      sizeBytes: this.sizeBytesAt(index),
      sequence: this.sequence + index,
      acceptedMs: this.#acceptedMs,
      dueMs: this.dueMs,
      sends: 0,
      maxMessages: undefined,
      progress: null,
    };
  }

  messages(): WaitingMessage[] {
    return Array.from({ length: this.size }, (_, index) => this.messageAt(index));
  }

  sizeBytesAt(index: number): number {
    return this.#number(index, SIZE_BYTES);
  }

  /** In its first claim, as that is shown. */
  claimedAt(index: number, nowMs: number): ClaimedMessage {
    const stored = new Stored({
      messageId: this.#messageIds[index] as string,
      format: this.format,
      bytes: this.#bytesAt(index),
      dateAt: this.#number(index, DATE_AT),
      countAt: this.#number(index, COUNT_AT),
    });
    const ageMs = nowMs - this.#acceptedMs;
    const sequence = this.sequence + index;
    return new Claimed({ sequence, stored, sends: 0, ageMs, progress: null });
  }

  #bytesAt(index: number): Buffer {
    const start = index === 0 ? 0 : this.#number(index - 1, END);
    return this.#bytes.subarray(start, this.#number(index, END));
  }

  #number(index: number, which: number): number {
    return this.#numbers[index * NUMBERS + which] as number;
  }
}

/** How many entries from `start` on make a run; 1 where none does. */
export function runLength(entries: readonly QueueEntry[], start: number): number {
  const first = entries[start] as QueueEntry;
  let bytes = 0;
  let end = start;
  for (; end < entries.length; end += 1) {
    const entry = entries[end] as QueueEntry;
    bytes += entry.stored.bytes.length;
    if (bytes > MAX_BYTES || !isOfKind(entry, first)) break;
  }
  return end - start < MIN_MESSAGES ? 1 : end - start;
}

const isOfKind = (entry: QueueEntry, first: QueueEntry): boolean =>
  entry.applicationId === first.applicationId && entry.stored.format === first.stored.format;
