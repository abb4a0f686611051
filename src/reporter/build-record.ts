/** Builds the record of an event: plain data, copied from the caller's objects. */
import { isIP } from 'node:net';
import type { RequestContext, RequestScope, ScopeNote } from '../capture/request/request-scope.ts';
import { frozen } from '../contract/frozen.ts';
import { EVENT_VERSION, type JsonObject, type LogActor, slugify } from '../contract/index.ts';
import type { Fragment } from '../contract/json-fragments.ts';
import { copyJson } from '../contract/json-value.ts';
import { inheritedKey } from '../contract/own-keys.ts';
import { serializeContext } from '../contract/serialize.ts';
import { SecurityEventError } from '../errors.ts';
import { definedProperties, ownProperties } from '../own-properties.ts';
import type { Service } from '../projection/event-messages.ts';
import type { RawContext } from './event-context.ts';
import type { EventContext, EventKind, MessageOverride } from './event-input.ts';

/** One call of a reporter's method. */
export interface EventCall {
  readonly kind: EventKind;
  /** The caller's payload; for a custom event its name and options. */
  readonly payload: unknown;
  /** The caller's context, for `onRejected`. */
  readonly given: EventContext;
  /** A copy of the context's own keys. Empty until they are read. */
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

/** An event whose call was read. */
export interface ReadEvent {
  readonly call: EventCall;
  readonly draft: RecordDraft;
  /** The context of `draft`, if the events of the request share it. */
  readonly shared: SharedContext | undefined;
  /** The call's overrides of the message; `false`: no message is sent. */
  readonly message: MessageOverride | false;
}

/** The context of a call without one. */
export const NO_CONTEXT: EventContext = Object.freeze({});

/** The copy of its own keys. */
export const NO_OWN_CONTEXT: EventContext = Object.freeze(ownProperties({}));

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

/** The context that all events of a request share, copied, validated and serialised once. */
export class SharedContext implements ScopeNote {
  readonly by: object;
  readonly of: RequestContext;
  /** Frozen to its leaves. */
  readonly value: JsonObject;
  /** As {@link knownActor} returns it. */
  readonly actor: LogActor | undefined;
  /** Its JSON in each dialect; undefined where the record needs full validation. */
  readonly text: { readonly strict: Fragment; readonly open: Fragment };

  constructor(by: object, of: RequestContext, value: JsonObject) {
    this.by = by;
    this.of = of;
    this.value = frozen(value);
    this.actor = knownActor(value);
    const strict = serializeContext(value, 'strict');
    this.text = { strict, open: strict ?? serializeContext(value, 'open') };
  }
}

/** Caches the context of the current request, and that of events outside a request. */
export class SharedContexts {
  readonly #service: Service;
  #outside: SharedContext | undefined;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Returns undefined if the context must be read for each event. */
  of(request: RequestContext, scope: RequestScope | undefined): SharedContext | undefined {
    // A key inherited from a polluted prototype would be cached.
    if (inheritedKey() !== undefined) return undefined;
    const known = scope === undefined ? this.#outside : scope.note;
    if (known instanceof SharedContext && known.by === this && known.of === request) return known;
    const { actor, http } = ownProperties(request);
    const copy = copyJson({ actor, http, service: this.#service });
    if (!copy.ok) return undefined;
    const made = new SharedContext(this, request, copy.value as JsonObject);
    if (scope === undefined) this.#outside = made;
    else scope.note = made;
    return made;
  }
}

/** A time in milliseconds since the epoch. Its text is shared by all events of a millisecond. */
export class EventTime {
  readonly ms: number;
  #iso: string | undefined;

  constructor(ms: number) {
    this.ms = ms;
  }

  /** Throws a RangeError for a time that no record can have. */
  iso(): string {
    this.#iso ??= new Date(this.ms).toISOString();
    return this.#iso;
  }
}

export interface RecordParts {
  readonly call: EventCall;
  readonly context: JsonObject | (RawContext & { readonly service: Service });
  /** When the event is reported. */
  readonly now: EventTime;
  /** As {@link recordPayload} returns it. */
  readonly payload: unknown;
}

/**
 * Builds the record with a shared context. Returns undefined if the payload is not JSON:
 * {@link buildRecord} reports it.
 */
export function buildSharedRecord({ call, context, now, payload }: RecordParts) {
  const copy = copyJson(payload);
  if (!copy.ok) return undefined;
  return draftOf(call.kind, {
    context,
    detected_at: now.iso(),
    payload: copy.value,
  }) as RecordDraft;
}

/** @throws SecurityEventError `ERR_INVALID_RECORD` for values that are not JSON, and what a getter throws. */
export function buildRecord({ call, context, now, payload }: RecordParts): RecordDraft {
  const detected_at = timeOf(call.context.detected_at, now);
  return plainRecord(draftOf(call.kind, { context, detected_at, payload })) as RecordDraft;
}

interface DraftFields {
  readonly context: unknown;
  readonly detected_at: unknown;
  readonly payload: unknown;
}

/** In the order in which records are written. */
const draftOf = (kind: EventKind, { context, detected_at, payload }: DraftFields) => ({
  context,
  detected_at,
  event_name: EVENT_NAME[kind],
  event_version: EVENT_VERSION,
  payload,
});

function timeOf(given: EventContext['detected_at'], now: EventTime): unknown {
  if (given === undefined) return now.iso();
  // `toISOString` of an invalid date would throw: validation reports it better.
  const isUsable = given instanceof Date && !Number.isNaN(given.getTime());
  return isUsable ? given.toISOString() : given;
}

/** Returns the payload of the record. Runs getters, which may throw. */
export function recordPayload({ kind, payload }: EventCall): unknown {
  if (typeof payload !== 'object' || payload === null) return payload;
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

/** Returns a copy as plain JSON. @throws SecurityEventError `ERR_INVALID_RECORD` */
export function plainRecord(record: unknown): JsonObject {
  const copy = copyJson(record);
  if (copy.ok) return copy.value as JsonObject;
  throw new SecurityEventError('ERR_INVALID_RECORD', { issues: [copy], input: record });
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the actor if its address and the facts about it are usable for a message. Otherwise the
 * message has no actor, and validation of the record reports the fault.
 */
export function knownActor(context: JsonObject): LogActor | undefined {
  const actor = Object.hasOwn(context, 'actor') ? context['actor'] : undefined;
  if (!isObject(actor)) return undefined;
  const { ip } = actor;
  const isKnown = isObject(ip) && isObject(ip['metadata']) && isObject(ip['geo']);
  const address = isKnown ? ip['address'] : undefined;
  const isActor = typeof address === 'string' && isIP(address) > 0;
  return isActor ? (actor as unknown as LogActor) : undefined;
}
