/** From a call to plain data: what both channels are told is read once, and is the caller's no more. */
import { isIP } from 'node:net';
import { EVENT_VERSION, type JsonObject, type LogActor, slugify } from '../contract/index.ts';
import { copyJson } from '../contract/json-value.ts';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import type { Service } from '../projection/security-event.ts';
import type { AddressTexts } from '../projection/security-event-text.ts';
import { formatTimestamp } from '../webhook/encoder.ts';
import type { RawContext } from './event-context.ts';
import type { EventContext, EventKind, MessageChoice } from './event-input.ts';
import type { TellableEvent } from './message-for.ts';

/** One call of a reporter's method. */
export interface EventCall {
  readonly kind: EventKind;
  /** As given; of a custom event its name and options. */
  readonly payload: unknown;
  /** As given, to be handed back. */
  readonly given: EventContext;
  /** Its own keys, once they were read. */
  readonly context: EventContext;
  /** Of a derived reporter; the context's own counts more. */
  readonly module: string | undefined;
}

/** A record that is not checked yet. */
export interface RecordDraft extends JsonObject {
  context: JsonObject;
  detected_at: string;
  event_name: string;
  event_version: string;
  payload: JsonObject;
}

export interface KnownContext {
  readonly actor: LogActor | undefined;
  /** How channel B tells of the actor, once that was needed: `false` where it has to be told plainly. */
  address: AddressTexts | false | undefined;
}

/** A record that was checked, as it is written, and what of it channel B is told: see quick-draft.ts. */
export class QuickDraft {
  readonly text: string;
  readonly payload: JsonObject;
  /** What is known of its context, and shared by all its events. */
  readonly known: KnownContext;
  /** As channel B writes times (D23). */
  readonly occurredAt: string;

  constructor(text: string, told: Pick<QuickDraft, 'payload' | 'known' | 'occurredAt'>) {
    this.text = text;
    this.payload = told.payload;
    this.known = told.known;
    this.occurredAt = told.occurredAt;
  }
}

/** An event on its way: what was read of the call. */
export interface EventOnItsWay<D = RecordDraft> {
  readonly call: EventCall;
  readonly draft: D;
  /** Plain; `false`: not to be told on channel B. */
  readonly choice: MessageChoice | false;
}

/** Of a call without a context: nothing of it has to be read. */
export const NOTHING_SAID: EventContext = Object.freeze({});

/** The same, once it was read. */
export const NOTHING_OWN: EventContext = Object.freeze(ownProperties({}));

export const EVENT_NAME = {
  attack: 'svc.ev0.threat.attack',
  vulnerabilityExploit: 'svc.ev0.threat.vulnerability_exploit',
  incident: 'svc.ev0.incident',
  playbookTrigger: 'svc.ev0.playbook_trigger',
  userLogin: 'svc.ev0.user_event.login',
  userSignup: 'svc.ev0.user_event.signup',
  customEvent: 'svc.ev0.custom_event',
} as const satisfies Record<EventKind, string>;

/** Keys of an incident's payload that channel B alone is told of. */
const MESSAGE_KEYS = new Set(['related_ips', 'compromised_accounts']);

export interface DraftSurroundings {
  readonly service: Service;
  readonly context: RawContext;
  readonly nowMs: number;
  /** As {@link payloadOf} gives it. */
  readonly payload: unknown;
}

/** @throws SecurityEventError `ERR_INVALID_RECORD` for what is no plain JSON, and what a getter throws. */
export function draftOf(call: EventCall, surroundings: DraftSurroundings): RecordDraft {
  const { service, context, nowMs, payload } = surroundings;
  return plainRecord({
    context: { ...context, service },
    detected_at: timeOf(call.context.detected_at, nowMs),
    event_name: EVENT_NAME[call.kind],
    event_version: EVENT_VERSION,
    payload,
  }) as RecordDraft;
}

function timeOf(given: EventContext['detected_at'], nowMs: number): unknown {
  if (given === undefined) return new Date(nowMs).toISOString();
  // An invalid date throws: the contract tells of a text better.
  const isUsable = given instanceof Date && !Number.isNaN(given.getTime());
  return isUsable ? given.toISOString() : given;
}

/** What a record tells of what happened. Runs getters, which may throw. */
export function payloadOf({ kind, payload }: EventCall): unknown {
  if (typeof payload !== 'object' || payload === null) return payload;
  if (kind === 'incident') {
    return Object.fromEntries(Object.entries(payload).filter(([key]) => !MESSAGE_KEYS.has(key)));
  }
  if (kind !== 'playbookTrigger') return payload;
  const { name, ...rest } = ownProperties<{ readonly name?: unknown }>(payload);
  // D16
  const slug = typeof name === 'string' ? { playbook_slug: slugify(name) } : {};
  return { ...slug, name, ...defined(rest) };
}

const defined = (given: object): object =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** D1: the name of an exploit with its protection, where it has one. */
export function suffixed(draft: RecordDraft): RecordDraft {
  const { event_name, payload } = draft;
  const { protection } = ownProperties(payload);
  if (event_name !== EVENT_NAME.vulnerabilityExploit) return draft;
  if (typeof protection !== 'string' || protection === '') return draft;
  return { ...draft, event_name: `${event_name}.${protection}` };
}

/** A copy that is JSON and nothing else. @throws SecurityEventError `ERR_INVALID_RECORD` */
export function plainRecord(record: unknown): JsonObject {
  const copy = copyJson(record);
  if (copy.ok) return copy.value as JsonObject;
  throw new SecurityEventError('ERR_INVALID_RECORD', { issues: [copy], input: record });
}

/** What channel B is told, from the record as it is to be told. */
export function tellable(
  kind: EventKind,
  draft: RecordDraft | QuickDraft,
  choice: MessageChoice,
): TellableEvent {
  if (draft instanceof QuickDraft) {
    const { payload, known, occurredAt } = draft;
    const { actor } = known;
    return { kind, payload, actor, occurredAt, choice };
  }
  const at = Date.parse(draft.detected_at);
  return {
    kind,
    payload: isObject(draft.payload) ? draft.payload : {},
    actor: knownActor(ownProperties(draft.context)['actor']),
    // D23; what is no time is the contract's to refuse.
    occurredAt: Number.isNaN(at) ? draft.detected_at : formatTimestamp(at),
    choice,
  };
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Whoever has an address, with its facts as objects: what the messages are made of. Without them the
 * event is told as nobody's; what is wrong with them channel A says, and the check of the message.
 */
export function knownActor(actor: unknown): LogActor | undefined {
  if (!isObject(actor)) return undefined;
  const { ip } = actor;
  const isKnown = isObject(ip) && isObject(ip['metadata']) && isObject(ip['geo']);
  const address = isKnown ? ip['address'] : undefined;
  const isActor = typeof address === 'string' && isIP(address) > 0;
  return isActor ? (actor as unknown as LogActor) : undefined;
}
