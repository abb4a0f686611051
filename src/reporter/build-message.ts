/** Builds the message of an event, or returns why it has none. */
import type { LogActor } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import {
  type SecurityEvent,
  type Service,
  securityEvent,
  securityResponse,
} from '../projection/event-messages.ts';
import {
  type EventWords,
  type EventWordsTable,
  eventWords,
  type IncidentWords,
  type IncidentWordsTable,
  incidentWords,
} from '../projection/vocabulary-map.ts';
import { formatTimestamp } from '../webhook/encoder.ts';
import { knownActor, type ReadEvent } from './build-record.ts';
import type { EventKind, MessageOverride } from './event-input.ts';

/** The same for all events of a reporter. */
export interface MessageRules {
  readonly service: Service;
  readonly eventWords: EventWordsTable;
  readonly incidentWords: IncidentWordsTable;
  /** Returns the absolute URL of an event or incident. Default: `urn:uuid:<id>`. */
  readonly urlOf: (id: string) => string;
  /** Whether the reporter has an `eventUrl`. */
  readonly hasUrls: boolean;
  readonly newId: () => string;
}

/** The parts of an event that its message needs; plain data. */
export interface MessageSource {
  readonly kind: EventKind;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly actor: LogActor | undefined;
  /** In channel B's format. */
  readonly occurredAt: string;
  readonly override: MessageOverride;
}

export interface DraftMessage {
  readonly message_id: string;
  readonly message_type: string;
  readonly message: object;
  readonly v1?: object;
}

/** Why a valid event has no message. */
export type MessageSkip =
  /** logins, signups and custom events, unless the caller gives a message */
  | 'log-only'
  /** an incident whose type has no message type, or the caller's message for a log-only event, without
   * a `message_type` in the call */
  | 'no-message-type'
  /** `webhook: false` */
  | 'not-wanted';

/** Builds the message of every kind except incidents: see IncidentPipeline. Throws like {@link textIn}. */
export function buildMessage(
  event: ReadEvent,
  override: MessageOverride,
  rules: MessageRules,
): DraftMessage | MessageSkip {
  const { kind } = event.call;
  const source = messageSource(event, override);
  if (override.message !== undefined) return draft(source, override.message, rules);
  switch (kind) {
    case 'attack':
    case 'vulnerabilityExploit':
      return draft(source, securityEventFor(source, rules), rules);
    case 'playbookTrigger':
      return draft(source, responseFor(source, rules), rules);
    default:
      return 'log-only';
  }
}

export function messageSource(
  { call, draft: record, shared }: ReadEvent,
  override: MessageOverride,
): MessageSource {
  const { payload } = record;
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
  return {
    kind: call.kind,
    payload: isObject ? payload : {},
    actor: shared === undefined ? knownActor(record.context) : shared.actor,
    occurredAt: messageTime(record.detected_at),
    override,
  };
}

/** The result of Date.prototype.toISOString for a year with four digits. */
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Converts to channel B's format. Validation reports a text that is no time. */
function messageTime(detectedAt: string): string {
  if (ISO_TIME.test(detectedAt)) return `${detectedAt.slice(0, -1)}+00:00`;
  const atMs = Date.parse(detectedAt);
  return Number.isNaN(atMs) ? detectedAt : formatTimestamp(atMs);
}

const MESSAGE_TYPES: ReadonlyMap<EventKind, string> = new Map([
  ['attack', 'security_event'],
  ['vulnerabilityExploit', 'security_event'],
  ['playbookTrigger', 'security_response'],
]);

function draft(
  { kind, override }: MessageSource,
  message: object,
  { newId }: MessageRules,
): DraftMessage | MessageSkip {
  const message_type = override.message_type ?? MESSAGE_TYPES.get(kind);
  if (message_type === undefined) return 'no-message-type';
  const { message_id = newId(), v1 } = override;
  return { message_id, message_type, message, ...(v1 === undefined ? {} : { v1 }) };
}

function securityEventFor(event: MessageSource, rules: MessageRules): SecurityEvent {
  const { payload, actor, occurredAt, override } = event;
  const word = textIn(payload, event.kind === 'attack' ? 'ruleset' : 'protection');
  const row = eventWords(word, rules.eventWords);
  const { category = row.category, kind = row.kind, title = row.title } = override;
  const words: EventWords = { category, kind, title };
  const id = rules.newId();
  const { service } = rules;
  return securityEvent({
    service,
    words,
    ip: actor?.ip,
    occurredAt,
    id,
    url: rules.urlOf(id),
    riskCoefficient: override.risk_coefficient,
  });
}

function responseFor({ payload, actor }: MessageSource, { service }: MessageRules): object {
  const name = textIn(payload, 'name');
  const playbook = { name, playbook_slug: textIn(payload, 'playbook_slug') };
  return securityResponse({ service, playbook, actor });
}

/** Returns a required text. @throws SecurityEventError `ERR_INVALID_MESSAGE` */
export function textIn(payload: MessageSource['payload'], key: string): string {
  const value = Object.hasOwn(payload, key) ? payload[key] : undefined;
  if (typeof value === 'string') return value;
  const message = 'expected a string';
  throw new SecurityEventError('ERR_INVALID_MESSAGE', {
    issues: [{ path: ['payload', key], message }],
  });
}

/** Returns the message type of an incident, or undefined if it has no message. Throws like {@link textIn}. */
export function incidentWordsFor(
  { payload, override }: MessageSource,
  rules: MessageRules,
): IncidentWords | undefined {
  const row = incidentWords(textIn(payload, 'incident_type'), rules.incidentWords);
  const message_type = override.message_type ?? row?.message_type;
  if (message_type === undefined) return undefined;
  const pulse_genre = override.pulse_genre ?? (row && ownProperties(row).pulse_genre);
  return { message_type, ...(pulse_genre === undefined ? {} : { pulse_genre }) };
}
