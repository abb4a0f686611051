/**
 * Encodes messages as the body of a request. A message is serialised once, when it is accepted; each
 * attempt inserts `date_created` and `retry_count` into the stored bytes. The result equals
 * `JSON.stringify` of the whole envelopes, byte for byte.
 */
import { Stored } from '../queue/message-classes.ts';
import type { ClaimedMessage, StoredMessage } from '../queue/queue.ts';

export interface MessageToStore {
  readonly message_id: string;
  readonly message_type: string;
  readonly message: object;
}

interface SerializedMessage extends Omit<MessageToStore, 'message'> {
  /** As JSON. */
  readonly message: string;
}

/** A message of a claim, to be encoded. */
export type Outgoing = Pick<ClaimedMessage, 'stored' | 'retryCount'>;

/** `YYYY-MM-DDTHH:mm:ss.SSS+00:00` */
const TIMESTAMP_BYTES = 29;

/** Text that JSON does not escape, like most ids and types. The test costs a quarter of `JSON.stringify`. */
const UNESCAPED = /^[\w .:-]*$/;

const OPEN = 0x5b;
const COMMA = 0x2c;
const CLOSE = 0x5d;
const ZERO = 0x30;
const TEN = 10;

/** A cache of the latest result of {@link formatTimestamp}: many requests begin in the same millisecond. */
const latest = { ms: Number.NaN, text: '' };

/** Formats a time for channel B, from milliseconds since the epoch (years 0 to 9999). */
export function formatTimestamp(ms: number): string {
  if (ms !== latest.ms) {
    latest.text = new Date(ms).toISOString().replace('Z', '+00:00');
    latest.ms = ms;
  }
  return latest.text;
}

/** Returns the stored form of a message. Later changes of the original have no effect. */
export const toStoredV2 = (message: MessageToStore): StoredMessage =>
  toStored({ ...message, message: JSON.stringify(message.message) }, (text) => Buffer.from(text));

/** Escapes a text for the inside of a JSON string. */
const escaped = (text: string): string =>
  UNESCAPED.test(text) ? text : JSON.stringify(text).slice(1, -1);

const BEFORE_ID = '{"message_id":"';
const BEFORE_DATE = '","api_version":"2","date_created":"';
const BEFORE_TYPE = '","message_type":"';
const BEFORE_COUNT = '","retry_count":';
/** Joined here, since fewer pieces are faster to concatenate. */
const AFTER_ID = `${BEFORE_DATE}${BEFORE_TYPE}`;
const AFTER_TYPE = `${BEFORE_COUNT},"message":`;

/** Returns the stored form of a message that is JSON already: an envelope with the contract's key order. */
export function toStored(
  { message_id, message_type, message }: SerializedMessage,
  toBytes: BytesOf,
): StoredMessage {
  const id = escaped(message_id);
  const type = escaped(message_type);
  const text = `${BEFORE_ID}${id}${AFTER_ID}${type}${AFTER_TYPE}${message}}`;
  const bytes = toBytes(text);
  const isAscii = bytes.length === text.length;
  const idBytes = isAscii ? id.length : Buffer.byteLength(id);
  const typeBytes = isAscii ? type.length : Buffer.byteLength(type);
  const dateAt = BEFORE_ID.length + idBytes + BEFORE_DATE.length;
  const countAt = dateAt + BEFORE_TYPE.length + typeBytes + BEFORE_COUNT.length;
  return new Stored({ messageId: message_id, format: 2, bytes, dateAt, countAt });
}

/** Returns the stored form of an element of format v1. `messageId` identifies it in reports; it is not sent. */
export function toStoredV1(messageId: string, element: object): StoredMessage {
  const bytes = Buffer.from(JSON.stringify(element));
  return new Stored({ messageId, format: 1, bytes, dateAt: 0, countAt: 0 });
}

/** `[` and `]` */
export const BRACKET_BYTES = 2;

/** Digits of the largest `retry_count` that sizes allow for. */
const MAX_COUNT_DIGITS = 10;

/** Returns the bytes of an element with the longest possible `retry_count`. */
export function maxElementBytes({ bytes, format }: StoredMessage): number {
  return bytes.length + (format === 2 ? TIMESTAMP_BYTES + MAX_COUNT_DIGITS : 0);
}

/** Returns the exact bytes of a request. */
export function requestBytes(
  messages: readonly Outgoing[],
  timestampBytes: number = TIMESTAMP_BYTES,
): number {
  let bytes = BRACKET_BYTES + Math.max(0, messages.length - 1);
  for (const { stored, retryCount } of messages) {
    bytes += stored.bytes.length;
    if (stored.format === 2) bytes += timestampBytes + digitsOf(retryCount);
  }
  return bytes;
}

/**
 * Returns the body of one request: a JSON array of the messages in their order, in one Buffer of
 * its exact size. Concatenating a Buffer per piece took three times as long.
 *
 * `dateCreated` is when this request is sent, as {@link formatTimestamp} writes it; with a broken
 * clock (a year beyond 9999) it is longer than usual.
 */
export function encodeBody(messages: readonly Outgoing[], dateCreated: string): Buffer {
  const date = Buffer.from(dateCreated, 'latin1');
  const bytes = requestBytes(messages, date.length);
  const body = Buffer.allocUnsafe(bytes);
  const writing = { body, date, end: 1 };
  body[0] = OPEN;
  for (const outgoing of messages) {
    if (writing.end > 1) {
      body[writing.end] = COMMA;
      writing.end += 1;
    }
    writeElement(writing, outgoing);
  }
  body[writing.end] = CLOSE;
  // Unwritten bytes would leak the memory of this process to the receiver.
  if (writing.end + 1 !== bytes) throw new Error('the size of a request was computed wrongly');
  return body;
}

interface Writing {
  readonly body: Buffer;
  readonly date: Uint8Array;
  /** Offset of the next byte. */
  end: number;
}

function writeElement(writing: Writing, { stored, retryCount }: Outgoing): void {
  const { body, date, end: start } = writing;
  const { bytes, format, dateAt, countAt } = stored;
  if (format === 1) {
    body.set(bytes, start);
    writing.end = start + bytes.length;
    return;
  }
  // Copies everything to where the long tail belongs, then moves the head back. Copying the three
  // parts one by one, or through views, is slower.
  const shift = date.length + digitsOf(retryCount);
  body.set(bytes, start + shift);
  body.copyWithin(start, start + shift, start + shift + dateAt);
  body.set(date, start + dateAt);
  for (let at = dateAt; at < countAt; at += 1) {
    body[start + date.length + at] = bytes[at] as number;
  }
  writeCount(body, start + date.length + countAt, retryCount);
  writing.end = start + bytes.length + shift;
}

/** A custom queue may return a negative number, a fraction, or a number as text. */
const isOneDigit = (count: number): boolean => Number.isInteger(count) && count >= 0 && count < TEN;

const digitsOf = (count: number): number => (isOneDigit(count) ? 1 : String(count).length);

function writeCount(body: Buffer, at: number, count: number): void {
  if (isOneDigit(count)) body[at] = ZERO + count;
  else body.write(String(count), at, 'latin1');
}

/** Returns the UTF-8 bytes of a text. */
export type BytesOf = (text: string) => Buffer;

const CHUNK_BYTES = 65_536;

/** Larger texts would leave too much of a chunk unused. */
const MAX_SHARED_BYTES = CHUNK_BYTES / 4;

/** Fewer texts are not worth a chunk. */
const MIN_TEXTS = 16;

/** UTF-8 needs at most three bytes for a unit of UTF-16. */
const MAX_BYTES_PER_UNIT = 3;

/** Returns a {@link BytesOf} whose results share chunks, for `count` texts that are freed together. */
export function sharedBytes(count: number): BytesOf {
  if (count < MIN_TEXTS) return (text) => Buffer.from(text);
  let chunk = Buffer.alloc(0);
  let end = 0;
  return (text) => {
    const maxBytes = text.length * MAX_BYTES_PER_UNIT;
    if (maxBytes > MAX_SHARED_BYTES) return Buffer.from(text);
    if (end + maxBytes > chunk.length) {
      chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      end = 0;
    }
    const start = end;
    end += chunk.write(text, start);
    return chunk.subarray(start, end);
  };
}
