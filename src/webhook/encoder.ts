/**
 * From messages to the bytes of a request. A message is serialised once, when it is accepted; an
 * attempt puts `date_created` and `retry_count` between the stored bytes. The result is, byte for
 * byte, what `JSON.stringify` makes of the whole envelopes.
 */

import type { StoredMessage } from '../queue/queue.ts';

export interface MessageToStore {
  readonly message_id: string;
  readonly message_type: string;
  readonly message: object;
}

/** A message of a request: how often it was sent before is its `retry_count` (D24). */
export interface Outgoing {
  readonly stored: StoredMessage;
  readonly retryCount: number;
}

/** `YYYY-MM-DDTHH:mm:ss.SSS+00:00` */
const TIMESTAMP_BYTES = 29;

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** A time of channel B as we write it (D23), from milliseconds since the epoch (years 0 to 9999). */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '+00:00');
}

/** Envelope and message in the key order of D20. What was stored no longer follows the original. */
export function storeV2({ message_id, message_type, message }: MessageToStore): StoredMessage {
  const beforeDate = `{"message_id":${JSON.stringify(message_id)},"api_version":"2","date_created":"`;
  const beforeCount = `","message_type":${JSON.stringify(message_type)},"retry_count":`;
  const rest = `,"message":${JSON.stringify(message)}}`;
  const dateAt = Buffer.byteLength(beforeDate);
  return {
    messageId: message_id,
    format: 2,
    bytes: Buffer.from(beforeDate + beforeCount + rest),
    dateAt,
    countAt: dateAt + Buffer.byteLength(beforeCount),
  };
}

/** `messageId` is our handle for the element; it is not written. */
export function storeV1(messageId: string, element: object): StoredMessage {
  const bytes = Buffer.from(JSON.stringify(element));
  return { messageId, format: 1, bytes, dateAt: 0, countAt: 0 };
}

/** The exact bytes of one element of a request, without commas and brackets. */
export function elementBytes({ stored, retryCount }: Outgoing): number {
  const slots = stored.format === 2 ? TIMESTAMP_BYTES + String(retryCount).length : 0;
  return stored.bytes.length + slots;
}

/** The exact bytes of a request whose elements have these sizes. */
export function bodyBytes(elements: readonly number[]): number {
  const commas = Math.max(0, elements.length - 1);
  return elements.reduce((sum, bytes) => sum + bytes, 2 + commas);
}

/**
 * The body of one request: a JSON array of the messages in their order.
 *
 * `dateCreated` is when this request is sent, as {@link formatTimestamp} writes it.
 */
export function encodeBody(messages: readonly Outgoing[], dateCreated: string): Buffer {
  const date = Buffer.from(dateCreated);
  const elements = messages.flatMap((outgoing, index) =>
    index === 0 ? segments(outgoing, date) : [COMMA, ...segments(outgoing, date)],
  );
  return Buffer.concat([OPEN, ...elements, CLOSE]);
}

function segments({ stored, retryCount }: Outgoing, date: Uint8Array): readonly Uint8Array[] {
  const { bytes, format, dateAt, countAt } = stored;
  if (format === 1) return [bytes];
  return [
    bytes.subarray(0, dateAt),
    date,
    bytes.subarray(dateAt, countAt),
    Buffer.from(String(retryCount)),
    bytes.subarray(countAt),
  ];
}
