/** Reads the messages in the body of a request, in either format. */

import { contract } from '../contract/contract.ts';
import { inputIssues } from '../contract/parse-log-line.ts';
import {
  EVENT_CATEGORIES,
  EVENT_KINDS,
  INCIDENT_MESSAGE_TYPES,
  MAX_MESSAGES_PER_REQUEST,
  MESSAGE_TYPES,
  PULSE_GENRES,
} from '../contract/vocabulary.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import { isObjectLike } from '../own-properties.ts';

const { WebhookMessageV1, WebhookMessageV2 } = contract({ dialect: 'open', reading: 'received' });

/** A v2 message in the received reading: keeps unknown keys, and is less strict than what this library sends. */
export type ReceivedV2 = ReturnType<typeof WebhookMessageV2.parse>;
/** A message of a type that this version of the library knows: narrows by `message_type`. */
export type KnownV2 = OfKnownType<ReceivedV2>;
/** The members of the union whose `message_type` is not just any string. */
type OfKnownType<M extends { readonly message_type: string }> = M extends unknown
  ? string extends M['message_type']
    ? never
    : M
  : never;
/** An element of format 1 in the received reading. */
export type ReceivedV1 = ReturnType<typeof WebhookMessageV1.parse>;

/** A field whose value may be unknown to this version of the library. */
export type UnknownField = 'message_type' | 'event_category' | 'event_kind' | 'pulse_genre';

interface Common {
  /** Index in the body. */
  readonly index: number;
  /**
   * The same when the message is sent again: `message_id`, or in format 1 `svc_payload_type`, application id and
   * the id of the event, pulse (incident) or response, such as `pulse/shop-1/42`. `null` if it has none.
   */
  readonly id: string | null;
  /** Fields whose values this version does not know. Skip messages that you cannot handle. */
  readonly unknown: readonly UnknownField[];
}

/** A received message. Narrows by `format` and `isKnownType`. */
export type ReceivedMessage =
  | (Common & { readonly format: 2; readonly isKnownType: true; readonly message: KnownV2 })
  | (Common & { readonly format: 2; readonly isKnownType: false; readonly message: ReceivedV2 })
  | (Common & { readonly format: 1; readonly isKnownType: true; readonly message: ReceivedV1 });

/** An element of the body that is invalid in both formats. */
export interface RefusedElement {
  readonly index: number;
  readonly element: unknown;
  /** Everything that is wrong, with its path in the element. */
  readonly issues: readonly InputIssue[];
}

export interface ParsedBody {
  readonly messages: readonly ReceivedMessage[];
  readonly refused: readonly RefusedElement[];
}

/**
 * Parses the body of a request: a JSON array of 1 to 1000 messages of format 2 or 1, recognised by the
 * elements. Invalid elements are in `refused`, so that the others can be handled; fields with unknown
 * values are listed in `unknown`, and are not an error.
 *
 * Call it only after `verify` has returned true.
 *
 * @throws SecurityEventError `ERR_INVALID_BODY` if the body is no such array; its `input` is the body.
 */
export function parseBody(body: string | Uint8Array | ArrayBuffer): ParsedBody {
  const messages: ReceivedMessage[] = [];
  const refused: RefusedElement[] = [];
  for (const [index, element] of elementsOf(body).entries()) {
    const found = readElement(element, index);
    if (isRefused(found)) refused.push(found);
    else messages.push(found);
  }
  return { messages, refused };
}

function elementsOf(body: string | Uint8Array | ArrayBuffer): unknown[] {
  const value = parseJson(body);
  if (!Array.isArray(value)) throw unusable('expected a JSON array of messages', body);
  if (value.length === 0 || value.length > MAX_MESSAGES_PER_REQUEST) {
    const range = `expected 1 to ${MAX_MESSAGES_PER_REQUEST} messages`;
    throw unusable(`${range}, found ${value.length}`, body);
  }
  return value as unknown[];
}

function parseJson(body: string | Uint8Array | ArrayBuffer): unknown {
  try {
    return JSON.parse(textOf(body)) as unknown;
  } catch {
    // Without the error of JSON.parse, which quotes the text.
    throw unusable('expected JSON in UTF-8', body);
  }
}

/** Fails for bytes that are not UTF-8: replacing them would change what was signed. */
function textOf(body: string | Uint8Array | ArrayBuffer): string {
  if (typeof body === 'string') return body;
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
}

function unusable(detail: string, input: unknown): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_BODY', { detail, input });
}

function readElement(element: unknown, index: number): ReceivedMessage | RefusedElement {
  // Only format 1 has this key.
  if (isObjectLike(element) && Object.hasOwn(element, 'svc_payload_type')) {
    const read = WebhookMessageV1.safeParse(element);
    if (!read.success) return { index, element, issues: inputIssues(read.error) };
    const { data } = read;
    const id = idOfV1(data);
    return { index, format: 1, id, isKnownType: true, unknown: unknownOfV1(data), message: data };
  }
  const read = WebhookMessageV2.safeParse(element);
  if (!read.success) return { index, element, issues: inputIssues(read.error) };
  const { data } = read;
  const found = { index, format: 2, id: data.message_id } as const;
  const unknown = unknownOfV2(data);
  return isOfKnownType(data)
    ? { ...found, isKnownType: true, unknown, message: data }
    : { ...found, isKnownType: false, unknown, message: data };
}

const isRefused = (found: ReceivedMessage | RefusedElement): found is RefusedElement =>
  Object.hasOwn(found, 'issues');

/**
 * An event, a pulse and a response may have the same id, and so may those of two applications. An empty id counts
 * as none: otherwise all messages with one would be duplicates.
 */
function idOfV1(element: ReceivedV1): string | null {
  const type = element.svc_payload_type;
  const id = type === 'security_event' ? element.event_id : element.id;
  const application =
    type === 'security_response' ? element.application.id : element.application_id;
  return id ? [type, application, id].join('/') : null;
}

/** The contract allows any word after `injection_`. */
const INJECTION = /^injection_\S+$/;
const KNOWN_MESSAGE_TYPES: readonly string[] = [...MESSAGE_TYPES, ...INCIDENT_MESSAGE_TYPES];

const isOfKnownType = (found: ReceivedV2): found is KnownV2 =>
  KNOWN_MESSAGE_TYPES.includes(found.message_type) || INJECTION.test(found.message_type);

function unknownOfV2(found: ReceivedV2): UnknownField[] {
  if (!isOfKnownType(found)) return ['message_type'];
  return found.message_type === 'security_event' ? unknownValues(found.message) : [];
}

function unknownOfV1(element: ReceivedV1): UnknownField[] {
  return ['security_event', 'pulse'].includes(element.svc_payload_type)
    ? unknownValues(element)
    : [];
}

const VOCABULARIES: readonly (readonly [UnknownField, readonly string[]])[] = [
  ['event_category', EVENT_CATEGORIES],
  ['event_kind', EVENT_KINDS],
  ['pulse_genre', PULSE_GENRES],
];

function unknownValues(fields: object): UnknownField[] {
  return VOCABULARIES.flatMap(([field, known]) => {
    const value: unknown = Object.hasOwn(fields, field) ? Reflect.get(fields, field) : undefined;
    return typeof value === 'string' && !known.includes(value) ? [field] : [];
  });
}
