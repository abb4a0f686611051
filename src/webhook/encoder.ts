/**
 * From messages to the bytes of a request. A message is serialised once, when it is accepted; an
 * attempt puts `date_created` and `retry_count` between the stored bytes. The result is, byte for
 * byte, what `JSON.stringify` makes of the whole envelopes.
 */
import { Stored } from '../queue/message-classes.ts';
import type { ClaimedMessage, StoredMessage } from '../queue/queue.ts';

export interface MessageToStore {
  readonly message_id: string;
  readonly message_type: string;
  readonly message: object;
}

export interface TextToStore {
  readonly message_id: string;
  readonly message_type: string;
  /** As JSON. */
  readonly message: string;
}

/** A message of a request, as a claim has it: how often it was sent before is its `retry_count` (D24). */
export type Outgoing = Pick<ClaimedMessage, 'stored' | 'sends'>;

/** `YYYY-MM-DDTHH:mm:ss.SSS+00:00` */
const TIMESTAMP_BYTES = 29;

/** What JSON writes as it is, as ids and types mostly are: seeing that takes a quarter of `JSON.stringify`. */
const PLAIN = /^[\w .:-]*$/;

const OPEN = 0x5b;
const COMMA = 0x2c;
const CLOSE = 0x5d;
const ZERO = 0x30;
const TEN = 10;

/** A time of channel B as we write it (D23), from milliseconds since the epoch (years 0 to 9999). */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '+00:00');
}

/** Envelope and message in the key order of D20. What was stored no longer follows the original. */
export const storeV2 = ({ message_id, message_type, message }: MessageToStore): StoredMessage =>
  storeText({ message_id, message_type, message: JSON.stringify(message) }, (text) =>
    Buffer.from(text),
  );

/** As within the quotes of a JSON text. */
const escaped = (text: string): string =>
  PLAIN.test(text) ? text : JSON.stringify(text).slice(1, -1);

const BEFORE_ID = '{"message_id":"';
const BEFORE_DATE = '","api_version":"2","date_created":"';
const BEFORE_TYPE = '","message_type":"';
const BEFORE_COUNT = '","retry_count":';
/** What stands between two of the three texts: each piece less is one less to put together. */
const BEHIND_ID = `${BEFORE_DATE}${BEFORE_TYPE}`;
const BEHIND_TYPE = `${BEFORE_COUNT},"message":`;

/** The same, where `message` is JSON already. */
export function storeText(
  { message_id, message_type, message }: TextToStore,
  toBytes: BytesOf,
): StoredMessage {
  const id = escaped(message_id);
  const type = escaped(message_type);
  const text = `${BEFORE_ID}${id}${BEHIND_ID}${type}${BEHIND_TYPE}${message}}`;
  const bytes = toBytes(text);
  // Where all of it is ASCII, as most is, nothing has to be counted again.
  const isAscii = bytes.length === text.length;
  const idBytes = isAscii ? id.length : Buffer.byteLength(id);
  const typeBytes = isAscii ? type.length : Buffer.byteLength(type);
  const dateAt = BEFORE_ID.length + idBytes + BEFORE_DATE.length;
  const countAt = dateAt + BEFORE_TYPE.length + typeBytes + BEFORE_COUNT.length;
  return new Stored({ messageId: message_id, format: 2, bytes, dateAt, countAt });
}

/** `messageId` is our handle for the element; it is not written. */
export function storeV1(messageId: string, element: object): StoredMessage {
  const bytes = Buffer.from(JSON.stringify(element));
  return new Stored({ messageId, format: 1, bytes, dateAt: 0, countAt: 0 });
}

/** `[` and `]`: what a body has besides its elements and their commas. */
export const BRACKET_BYTES = 2;

/** The exact bytes of one element of a request, without commas and brackets. */
export function elementBytes({ stored, sends }: Outgoing): number {
  const slots = stored.format === 2 ? TIMESTAMP_BYTES + digitsOf(sends) : 0;
  return stored.bytes.length + slots;
}

/** Digits of the largest `retry_count` that sizes reckon with. */
const MAX_COUNT_DIGITS = 10;

/** The bytes of an element whose `retry_count` has grown as long as it may. */
export function maxElementBytes({ bytes, format }: StoredMessage): number {
  return bytes.length + (format === 2 ? TIMESTAMP_BYTES + MAX_COUNT_DIGITS : 0);
}

/** The exact bytes of a request whose elements have these sizes. */
export function bodyBytes(elements: readonly number[]): number {
  let bytes = BRACKET_BYTES + Math.max(0, elements.length - 1);
  for (const element of elements) bytes += element;
  return bytes;
}

/**
 * The body of one request: a JSON array of the messages in their order, in one Buffer of its exact
 * size. Joined from a Buffer a piece, it took three times as long.
 *
 * `dateCreated` is when this request is sent, as {@link formatTimestamp} writes it.
 */
export function encodeBody(messages: readonly Outgoing[], dateCreated: string): Buffer {
  const date = Buffer.from(dateCreated, 'latin1');
  // Of years beyond 9999, as a broken clock tells, a date is longer than what sizes reckon with.
  const moreOfDate = date.length - TIMESTAMP_BYTES;
  const dates = moreOfDate === 0 ? 0 : messages.filter(({ stored }) => stored.format === 2).length;
  const bytes = sizeOf(messages) + dates * moreOfDate;
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
  // A byte that nobody wrote may be anything that this process had in its memory.
  if (writing.end + 1 !== bytes) throw new Error('the size of a request was reckoned wrong');
  return body;
}

/** As {@link bodyBytes}, without a list of a thousand sizes. */
function sizeOf(messages: readonly Outgoing[]): number {
  let bytes = bodyBytes([]) + Math.max(0, messages.length - 1);
  for (const message of messages) bytes += elementBytes(message);
  return bytes;
}

interface Writing {
  readonly body: Buffer;
  readonly date: Uint8Array;
  /** Of what is written. */
  end: number;
}

function writeElement(writing: Writing, { stored, sends }: Outgoing): void {
  const { body, date, end: start } = writing;
  const { bytes, format, dateAt, countAt } = stored;
  if (format === 1) {
    body.set(bytes, start);
    writing.end = start + bytes.length;
    return;
  }
  // The long rest lands where it belongs, and what is before it moves up: views of the three parts, or
  // copies of each, cost more than that.
  const shift = date.length + digitsOf(sends);
  body.set(bytes, start + shift);
  body.copyWithin(start, start + shift, start + shift + dateAt);
  body.set(date, start + dateAt);
  for (let at = dateAt; at < countAt; at += 1) {
    body[start + date.length + at] = bytes[at] as number;
  }
  writeCount(body, start + date.length + countAt, sends);
  writing.end = start + bytes.length + shift;
}

/** A foreign queue may have kept another kind of number, or its text. */
const isOneDigit = (count: number): boolean => Number.isInteger(count) && count >= 0 && count < TEN;

const digitsOf = (count: number): number => (isOneDigit(count) ? 1 : String(count).length);

function writeCount(body: Buffer, at: number, count: number): void {
  if (isOneDigit(count)) body[at] = ZERO + count;
  else body.write(String(count), at, 'latin1');
}

/** Gives the UTF-8 bytes of a text. */
export type BytesOf = (text: string) => Buffer;

const CHUNK_BYTES = 65_536;

/** Of what may be larger too much would be left empty where a chunk ends. */
const MAX_SHARED_BYTES = CHUNK_BYTES / 4;

/** Fewer are not worth a chunk. */
const MIN_TEXTS = 16;

/** What UTF-8 has at most for a unit of UTF-16. */
const MAX_BYTES_PER_UNIT = 3;

/** For so many texts, which are let go together. */
export function sharedBytes(count: number): BytesOf {
  if (count < MIN_TEXTS) return (text) => Buffer.from(text);
  let chunk = Buffer.alloc(0);
  let end = 0;
  return (text) => {
    const most = text.length * MAX_BYTES_PER_UNIT;
    if (most > MAX_SHARED_BYTES) return Buffer.from(text);
    if (end + most > chunk.length) {
      chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      end = 0;
    }
    const start = end;
    end += chunk.write(text, start);
    return chunk.subarray(start, end);
  };
}
