/** From the bytes of a request to its messages, in either format. D20-D31, D41-D45. */
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

const { WebhookMessageV1, WebhookMessageV2 } = contract({ dialect: 'open', reading: 'received' });

/** A v2 message in the received reading: unknown keys are kept, narrowings of ours not checked. */
export type ReceivedV2 = ReturnType<typeof WebhookMessageV2.parse>;
/** One of a type that this version of the library knows: narrows by `message_type`. */
export type KnownV2 = OfKnownType<ReceivedV2>;
type OfKnownType<M extends { readonly message_type: string }> = M extends unknown
  ? string extends M['message_type']
    ? never
    : M
  : never;
/** An element of format v1 in the received reading. */
export type ReceivedV1 = ReturnType<typeof WebhookMessageV1.parse>;

/** A field whose word this version of the library does not know (D25, D26). */
export type UnknownField = 'message_type' | 'event_category' | 'event_kind' | 'pulse_genre';

interface Common {
  /** Where it stands in the body, from 0. */
  readonly index: number;
  /**
   * By what it is known again when it is sent again: `message_id`, in format v1 the id of the event,
   * pulse or response. `null` where the sender gave none.
   */
  readonly id: string | null;
  /** Fields that hold a word which was added later: handle what you know, skip what you do not. */
  readonly unknown: readonly UnknownField[];
}

/** A message as it was received, with what a receiver asks first. Narrows by `format` and `isKnownType`. */
export type ReceivedMessage =
  | (Common & { readonly format: 2; readonly isKnownType: true; readonly message: KnownV2 })
  | (Common & { readonly format: 2; readonly isKnownType: false; readonly message: ReceivedV2 })
  | (Common & { readonly format: 1; readonly isKnownType: true; readonly message: ReceivedV1 });

/** An element of the body that follows neither format. */
export interface RefusedElement {
  readonly index: number;
  readonly element: unknown;
  /** Every fault, with its path within the element. */
  readonly issues: readonly InputIssue[];
}

export interface ParsedBody {
  readonly messages: readonly ReceivedMessage[];
  readonly refused: readonly RefusedElement[];
}

/**
 * Reads the body of a request: a JSON array of 1 to 1000 messages of format v2 or v1, which is told
 * by the elements themselves. Elements that break the contract stand in `refused`, so that one of
 * them does not cost the others; words that are not known yet are no error and stand in `unknown`.
 *
 * Give it the body after `verify` has said yes, as bytes or as their text.
 *
 * @throws SecurityEventError `ERR_INVALID_BODY` where it is no such array; its `input` is the body.
 */
export function parseBody(body: string | Uint8Array): ParsedBody {
  const messages: ReceivedMessage[] = [];
  const refused: RefusedElement[] = [];
  for (const [index, element] of elementsOf(body).entries()) {
    const found = readElement(element, index);
    if (isRefused(found)) refused.push(found);
    else messages.push(found);
  }
  return { messages, refused };
}

function elementsOf(body: string | Uint8Array): unknown[] {
  const value = parseJson(body);
  if (!Array.isArray(value)) throw unusable('expected a JSON array of messages', body);
  if (value.length === 0 || value.length > MAX_MESSAGES_PER_REQUEST) {
    const range = `expected 1 to ${MAX_MESSAGES_PER_REQUEST} messages`;
    throw unusable(`${range}, found ${value.length}`, body);
  }
  return value as unknown[];
}

function parseJson(body: string | Uint8Array): unknown {
  try {
    return JSON.parse(textOf(body)) as unknown;
  } catch {
    // What JSON.parse says quotes the text.
    throw unusable('expected JSON in UTF-8', body);
  }
}

/** A decoder that replaced what is not UTF-8 would change what was signed. */
function textOf(body: string | Uint8Array): string {
  if (typeof body === 'string') return body;
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
}

function unusable(detail: string, input: unknown): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_BODY', { detail, input });
}

function readElement(element: unknown, index: number): ReceivedMessage | RefusedElement {
  // The key that only format v1 has decides of which format an error speaks.
  if (isObject(element) && Object.hasOwn(element, 'svc_payload_type')) {
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

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** D41: what has no `message_id` has an id of its own. An empty one would make duplicates of all. */
function idOfV1(element: ReceivedV1): string | null {
  const id = element.svc_payload_type === 'security_event' ? element.event_id : element.id;
  return id === undefined || id === '' ? null : id;
}

const INJECTION = /^injection_\S+$/;
const KNOWN_MESSAGE_TYPES: readonly string[] = [...MESSAGE_TYPES, ...INCIDENT_MESSAGE_TYPES];

const isOfKnownType = (found: ReceivedV2): found is KnownV2 =>
  KNOWN_MESSAGE_TYPES.includes(found.message_type) || INJECTION.test(found.message_type);

function unknownOfV2(found: ReceivedV2): UnknownField[] {
  if (!isOfKnownType(found)) return ['message_type'];
  return found.message_type === 'security_event' ? unknownWords(found.message) : [];
}

function unknownOfV1(element: ReceivedV1): UnknownField[] {
  return ['security_event', 'pulse'].includes(element.svc_payload_type)
    ? unknownWords(element)
    : [];
}

const VOCABULARIES: readonly (readonly [UnknownField, readonly string[]])[] = [
  ['event_category', EVENT_CATEGORIES],
  ['event_kind', EVENT_KINDS],
  ['pulse_genre', PULSE_GENRES],
];

function unknownWords(fields: object): UnknownField[] {
  return VOCABULARIES.flatMap(([field, words]) => {
    const word: unknown = Object.hasOwn(fields, field) ? Reflect.get(fields, field) : undefined;
    return typeof word === 'string' && !words.includes(word) ? [field] : [];
  });
}
