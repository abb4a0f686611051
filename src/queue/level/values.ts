/** What the rows of the store hold, as bytes. Numbers of a fixed length, highest byte first; texts are UTF-8. */
import type { DeadReason, Format, Json, Origin, StoredMessage } from './old-contract.ts';

/** Of the form below; a later form gets another one. */
const FORM = 1;
/** Likewise, but for its texts: UTF-8 would lose half of a character. */
const FORM_OF_ODD_TEXTS = 2;

/** Surrogates without their other half. */
const ODD = /\p{Surrogate}/u;

/** A message's content, and what never changes while it waits. */
export interface Content {
  /** So that a message is of use also where the row of its application is gone. */
  readonly applicationId: string;
  readonly stored: StoredMessage;
  readonly origin: Origin;
  readonly sizeBytes: number;
  /** The queue's time. */
  readonly acceptedMs: number;
  /** Before it came in. */
  readonly sends: number;
}

const AT = { form: 0, format: 1, accepted: 2, size: 10, sends: 14, date: 18, count: 22 } as const;
const NUMBER = 26;
const LENGTHS = 34;
const TEXTS = 46;

export function encodeContent(content: Content): Buffer {
  const { stored, origin, sizeBytes, acceptedMs, sends } = content;
  const texts = [content.applicationId, origin.senderId, stored.messageId];
  const isOdd = texts.some((text) => ODD.test(text));
  const encoding = isOdd ? 'utf16le' : 'utf8';
  const lengths = texts.map((text) => Buffer.byteLength(text, encoding));
  const [all] = [lengths.reduce((sum, length) => sum + length, TEXTS)];
  const value = Buffer.allocUnsafe(all + stored.bytes.length);
  value.writeUInt8(isOdd ? FORM_OF_ODD_TEXTS : FORM, AT.form);
  value.writeUInt8(stored.format, AT.format);
  value.writeDoubleBE(acceptedMs, AT.accepted);
  value.writeUInt32BE(sizeBytes, AT.size);
  value.writeUInt32BE(sends, AT.sends);
  value.writeUInt32BE(stored.dateAt, AT.date);
  value.writeUInt32BE(stored.countAt, AT.count);
  value.writeDoubleBE(origin.number, NUMBER);
  let end = TEXTS;
  for (const [index, text] of texts.entries()) {
    value.writeUInt32BE(lengths[index] as number, LENGTHS + 4 * index);
    end += value.write(text, end, encoding);
  }
  stored.bytes.copy(value, end);
  return value;
}

/** Known only when it is its turn to be written. */
export function setAccepted(value: Buffer, acceptedMs: number): void {
  value.writeDoubleBE(acceptedMs, AT.accepted);
}

export function decodeContent(value: Buffer): Content {
  const encoding = value.readUInt8(AT.form) === FORM_OF_ODD_TEXTS ? 'utf16le' : 'utf8';
  let end = TEXTS;
  const [applicationId = '', senderId = '', messageId = ''] = [0, 1, 2].map((index) => {
    const start = end;
    end += value.readUInt32BE(LENGTHS + 4 * index);
    return value.toString(encoding, start, end);
  });
  const stored: StoredMessage = {
    messageId,
    format: value.readUInt8(AT.format) as Format,
    bytes: value.subarray(end),
    dateAt: value.readUInt32BE(AT.date),
    countAt: value.readUInt32BE(AT.count),
  };
  return {
    applicationId,
    stored,
    origin: { senderId, number: value.readDoubleBE(NUMBER) },
    sizeBytes: value.readUInt32BE(AT.size),
    acceptedMs: value.readDoubleBE(AT.accepted),
    sends: value.readUInt32BE(AT.sends),
  };
}

/** What changes while a message waits again. */
export interface Again {
  readonly acceptedMs: number;
  readonly sizeBytes: number;
  readonly format: Format;
  readonly sends: number;
  readonly maxMessages: number | undefined;
  readonly progress: Json | null;
  /** Its content lies among what came from other queues. */
  readonly isBrought: boolean;
}

const PROGRESS = 22;

/** As good as no limit. */
const MOST_MESSAGES = 2 ** 32 - 1;

export function encodeAgain(again: Again): Buffer {
  const progress = again.progress === null ? '' : JSON.stringify(again.progress);
  const value = Buffer.allocUnsafe(PROGRESS + Buffer.byteLength(progress));
  value.writeUInt8(again.format, 0);
  value.writeUInt8(again.isBrought ? 1 : 0, 1);
  value.writeDoubleBE(again.acceptedMs, 2);
  value.writeUInt32BE(again.sizeBytes, 10);
  value.writeUInt32BE(again.sends, 14);
  value.writeUInt32BE(Math.min(again.maxMessages ?? 0, MOST_MESSAGES), 18);
  value.write(progress, PROGRESS);
  return value;
}

export function decodeAgain(value: Buffer): Again {
  const maxMessages = value.readUInt32BE(18);
  const progress = value.toString('utf8', PROGRESS);
  return {
    format: value.readUInt8(0) as Format,
    isBrought: value.readUInt8(1) === 1,
    acceptedMs: value.readDoubleBE(2),
    sizeBytes: value.readUInt32BE(10),
    sends: value.readUInt32BE(14),
    maxMessages: maxMessages === 0 ? undefined : maxMessages,
    progress: progress === '' ? null : (JSON.parse(progress) as Json),
  };
}

export interface Death {
  readonly sends: number;
  readonly reason: DeadReason;
  readonly end: Json;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly diedAt: number;
}

/** Its death as JSON with the length before it, then the message as it waited. */
export function encodeDead(death: Death, content: Content): Buffer {
  const told = Buffer.from(JSON.stringify(death));
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(told.length, 0);
  return Buffer.concat([length, told, encodeContent(content)]);
}

export function decodeDead(value: Buffer): { readonly death: Death; readonly content: Content } {
  const end = 4 + value.readUInt32BE(0);
  const death = JSON.parse(value.toString('utf8', 4, end)) as Death;
  return { death, content: decodeContent(value.subarray(end)) };
}

export const encodeTime = (ms: number): Buffer => {
  const value = Buffer.allocUnsafe(8);
  value.writeDoubleBE(ms, 0);
  return value;
};

export const decodeTime = (value: Buffer): number => value.readDoubleBE(0);

export const encodeJson = (value: object): Buffer => Buffer.from(JSON.stringify(value));

export const decodeJson = <T>(value: Buffer): T => JSON.parse(value.toString()) as T;
