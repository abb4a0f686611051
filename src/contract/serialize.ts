/**
 * Validates and serialises in one pass. Each function returns the text of
 * `JSON.stringify(schema.parse(value))`, with the escapes of log lines, or undefined when full validation is
 * needed: parse the value with its schema then. They throw only what a getter or proxy in the value throws.
 */
import type { Dialect } from './dialect.ts';
import { checkedJson, type Fragment, quoteInLine } from './json-fragments.ts';
import type { JsonObject } from './json-value.ts';
import { withOwnKeys } from './own-keys.ts';
import { type CapturedFields, SERIALIZERS } from './serializers.generated.ts';
import { type EVENT_NAMES, EVENT_VERSION } from './vocabulary.ts';

export type { CapturedFields } from './serializers.generated.ts';

export type EventName = (typeof EVENT_NAMES)[number];

/** Serialises a record of channel A. */
export const serializeLogRecord = (record: unknown, dialect: Dialect): Fragment =>
  SERIALIZERS[dialect].logRecord(withOwnKeys(record));

/** Serialises the context of a record. Events of one request share it. */
export const serializeContext = (context: unknown, dialect: Dialect): Fragment =>
  SERIALIZERS[dialect].context(withOwnKeys(context));

export interface RecordWithoutContext {
  readonly detected_at: unknown;
  readonly event_name: EventName;
  readonly payload: unknown;
}

/** Serialises a record around the JSON of its context: see {@link serializeContext}. */
export function serializeWithContextJson(
  contextText: string,
  { detected_at, event_name, payload }: RecordWithoutContext,
  dialect: Dialect,
): Fragment {
  const { detectedAt, payloads } = SERIALIZERS[dialect];
  const detectedAtText = detectedAt(detected_at);
  const payloadText = payloads[event_name](withOwnKeys(payload));
  if (detectedAtText === undefined || payloadText === undefined) return undefined;
  return `{"context":${contextText},"detected_at":${detectedAtText},"event_name":"${event_name}","event_version":"${EVENT_VERSION}","payload":${payloadText}}`;
}

/**
 * Returns the senders' serialiser of messages. It also stores the id, type, application and JSON of a message in
 * `captured`. Pass it what `withOwnKeys` returns: calling that here would add a frame to the stack traces of errors.
 */
export const messageSerializer = (
  dialect: Dialect,
): ((message: unknown, captured: CapturedFields) => Fragment) => SERIALIZERS[dialect].messageToSend;

/** Serialises validated plain data for a log line. */
export const serializeChecked = (data: JsonObject): string => checkedJson(data, quoteInLine);
