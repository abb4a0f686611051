/** Builds the record of an event: plain data, copied from the caller's objects. */
import { types } from 'node:util';
import { isObject } from '../contract/dispatch.ts';
import { kindOf } from '../contract/error-messages.ts';
import { EVENT_VERSION, type JsonObject, type JsonValue, slugify } from '../contract/index.ts';
import { copyJson } from '../contract/json-value.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import { definedProperties, ownProperties } from '../own-properties.ts';
import type { Service } from '../projection/event-messages.ts';
import type { UnvalidatedContext } from './event-context.ts';
import type { EventContext, EventKind, MessageOverride } from './event-input.ts';
import { SharedContext } from './shared-context.ts';

/** One call of a reporter's method. */
export interface EventCall {
  readonly kind: EventKind;
  /** The caller's payload; for a custom event its name and options. */
  readonly payload: unknown;
  /** The caller's own object. */
  readonly context: EventContext;
  /** The module of a derived reporter. The module of the context overrides it. */
  readonly module: string | undefined;
}

/** A record that is not validated yet. */
export interface RecordDraft extends JsonObject {
  context: JsonObject;
  detected_at: string;
  event_name: string;
  event_version: string;
  payload: JsonObject;
}

/** An event whose call has been read. */
export interface ReportedEvent {
  readonly call: EventCall;
  /** A copy of the own keys of the call's context. */
  readonly context: EventContext;
  readonly draft: RecordDraft;
  /** The context of `draft`, if the events of the request share it. */
  readonly shared: SharedContext | undefined;
  /** The call's overrides of the message. `false`: send none. An error: reject the message, but write the record. */
  readonly override: MessageOverride | false | SecurityEventError;
}

/** The context of a call without one. */
export const NO_CONTEXT: EventContext = Object.freeze({});

export const EVENT_NAME = {
  attack: 'svc.ev0.threat.attack',
  vulnerabilityExploit: 'svc.ev0.threat.vulnerability_exploit',
  incident: 'svc.ev0.incident',
  playbookTrigger: 'svc.ev0.playbook_trigger',
  userLogin: 'svc.ev0.user_event.login',
  userSignup: 'svc.ev0.user_event.signup',
  customEvent: 'svc.ev0.custom_event',
} as const satisfies Record<EventKind, string>;

/** Keys of an incident's payload that only its message carries. */
const MESSAGE_KEYS = new Set(['related_ips', 'compromised_accounts']);

export interface RecordParts {
  readonly call: EventCall;
  readonly detectedAt: EventContext['detected_at'];
  /** The shared context of the request, or one that is not copied yet. */
  readonly context: SharedContext | UnvalidatedContext;
  readonly service: Service;
  /** As {@link recordPayload} returns it. */
  readonly payload: unknown;
  /** Returns the current time in ISO 8601. */
  readonly now: () => string;
}

/**
 * Builds the record, with its keys in the order in which records are written.
 *
 * @throws SecurityEventError `ERR_INVALID_RECORD` for values that are not JSON. Also throws what a getter throws.
 */
export function buildRecord(parts: RecordParts): RecordDraft {
  const { call, detectedAt, context, service, payload, now } = parts;
  const fields = {
    context:
      context instanceof SharedContext
        ? context.value
        : copied({ ...context, service }, ['context'], call),
    detected_at:
      detectedAt === undefined ? now() : copied(textOf(detectedAt, call), ['detected_at'], call),
    event_name: EVENT_NAME[call.kind],
    event_version: EVENT_VERSION,
    // Validation reports a missing payload.
    payload: payload === undefined ? undefined : copied(payload, ['payload'], call),
  };
  return fields as RecordDraft;
}

/** Returns a copy as plain JSON. */
function copied(value: unknown, path: readonly string[], input: unknown): JsonValue {
  const copy = copyJson(value);
  if (copy.ok) return copy.value;
  throw invalidRecord({ path: [...path, ...copy.path], message: copy.message }, input);
}

const invalidRecord = (issue: InputIssue, input: unknown): SecurityEventError =>
  new SecurityEventError('ERR_INVALID_RECORD', { issues: [issue], input });

/** Converts a Date. Validation reports text that is not a time. */
function textOf(detectedAt: string | Date, input: EventCall): unknown {
  // Also of another realm, such as a sandbox of Jest.
  if (!types.isDate(detectedAt)) return detectedAt;
  if (!Number.isNaN(detectedAt.getTime())) return detectedAt.toISOString();
  const message = 'expected a valid Date, found an invalid one';
  throw invalidRecord({ path: ['detected_at'], message }, input);
}

/** Returns the payload of the record. Runs getters, which may throw. */
export function recordPayload({ kind, payload }: EventCall): unknown {
  // Validation reports a payload that is not an object.
  if (!isObject(payload)) return payload;
  if (kind === 'incident') {
    return Object.fromEntries(Object.entries(payload).filter(([key]) => !MESSAGE_KEYS.has(key)));
  }
  if (kind !== 'playbookTrigger') return payload;
  const { name, ...rest } = ownProperties<{ readonly name?: unknown }>(payload);
  const slug = typeof name === 'string' ? { playbook_slug: slugify(name) } : {};
  return { ...slug, name, ...definedProperties(rest) };
}

/** Appends the protection to the name of an exploit. */
export function withSuffix(draft: RecordDraft): RecordDraft {
  const { event_name, payload } = draft;
  const { protection } = ownProperties(payload);
  if (event_name !== EVENT_NAME.vulnerabilityExploit) return draft;
  if (typeof protection !== 'string' || protection === '') return draft;
  return { ...draft, event_name: `${event_name}.${protection}` };
}

/** Throws `ERR_INVALID_RECORD` for an empty slug: the record would be rejected, but its message delivered. */
export function checkSlug(draft: RecordDraft): void {
  if (ownProperties(draft.payload)['playbook_slug'] !== '') return;
  const message =
    'expected a slug, found an empty string: give one if the name has no letters or digits';
  throw invalidRecord({ path: ['payload', 'playbook_slug'], message }, draft);
}

/** Returns a copy as plain JSON. @throws SecurityEventError `ERR_INVALID_RECORD` */
export function copyRecord(record: unknown): JsonObject {
  const copy = copied(record, [], record);
  if (isObject(copy)) return copy;
  throw invalidRecord({ path: [], message: `expected an object, found ${kindOf(record)}` }, record);
}
