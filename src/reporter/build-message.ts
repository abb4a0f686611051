/** Builds the message of an event, or returns why it has none. */
import { isObject } from '../contract/dispatch.ts';
import { ownProperties } from '../own-properties.ts';
import {
  type EventData,
  requiredText,
  type Service,
  securityEvent,
  securityResponse,
} from '../projection/event-messages.ts';
import {
  type EventVocabulary,
  findEventTerms,
  findIncidentTerms,
  type IncidentTerms,
  type IncidentVocabulary,
} from '../projection/vocabulary-map.ts';
import { formatTimestamp } from '../webhook/encoder.ts';
import type { ReportedEvent } from './build-record.ts';
import { actorForMessage } from './event-context.ts';
import type { EventKind, MessageOverride } from './event-input.ts';

/** What every message of a reporter is built with. */
export interface MessageRules {
  readonly service: Service;
  readonly eventVocabulary: EventVocabulary;
  readonly incidentVocabulary: IncidentVocabulary;
  /** Returns the absolute URL of an event or incident. Default: `urn:uuid:<id>`. */
  readonly urlOf: (id: string) => string;
  /** Whether the reporter has an `eventUrl`. */
  readonly hasUrls: boolean;
  readonly newId: () => string;
}

export interface DraftMessage {
  readonly message_id: string;
  readonly message_type: string;
  readonly message: object;
  readonly v1?: object;
}

/** Why a valid event has no message. */
export type NoMessageReason =
  /** logins, signups and custom events, unless the caller gives a message */
  | 'log-only'
  /** neither the call nor the vocabulary gives a message type */
  | 'no-message-type'
  /** `webhook: false` */
  | 'not-wanted';

const MESSAGE_TYPES: ReadonlyMap<EventKind, string> = new Map([
  ['attack', 'security_event'],
  ['vulnerabilityExploit', 'security_event'],
  ['playbookTrigger', 'security_response'],
]);

/** Builds the message of any event except an incident: see IncidentPipeline. Throws like {@link requiredText}. */
export function buildMessage(
  event: ReportedEvent,
  override: MessageOverride,
  rules: MessageRules,
): DraftMessage | NoMessageReason {
  const type = MESSAGE_TYPES.get(event.call.kind);
  if (override.message === undefined && type === undefined) return 'log-only';
  const message_type = override.message_type ?? type;
  if (message_type === undefined) return 'no-message-type';
  const message = override.message ?? contentOf(event, override, rules);
  const draft = { message_id: override.message_id ?? rules.newId(), message_type, message };
  return override.v1 === undefined ? draft : { ...draft, v1: override.v1 };
}

function contentOf(event: ReportedEvent, override: MessageOverride, rules: MessageRules): object {
  const { kind: eventKind } = event.call;
  const data = eventData(event, rules.service);
  if (eventKind === 'playbookTrigger') return securityResponse(data);
  const detection = requiredText(data, eventKind === 'attack' ? 'ruleset' : 'protection');
  const row = findEventTerms(detection, rules.eventVocabulary);
  const { category = row.category, kind = row.kind, title = row.title } = override;
  const id = rules.newId();
  return securityEvent(data, {
    terms: { category, kind, title },
    id,
    url: rules.urlOf(id),
    riskCoefficient: override.risk_coefficient,
  });
}

export function eventData({ draft, shared }: ReportedEvent, service: Service): EventData {
  const { payload, context, detected_at } = draft;
  return {
    service,
    // Validation of the record reports a payload that is not an object.
    payload: isObject(payload) ? payload : {},
    actor: shared === undefined ? actorForMessage(context) : shared.actor,
    occurredAt: messageTime(detected_at),
  };
}

/** The result of Date.prototype.toISOString for a year with four digits. */
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Converts to channel B's format. Validation reports text that is not a time. */
function messageTime(detectedAt: string): string {
  if (ISO_TIME.test(detectedAt)) return `${detectedAt.slice(0, -1)}+00:00`;
  const atMs = Date.parse(detectedAt);
  return Number.isNaN(atMs) ? detectedAt : formatTimestamp(atMs);
}

/** Returns an incident's message type and v1 genre, or undefined if it has no message. Throws like {@link requiredText}. */
export function incidentTermsFor(
  event: EventData,
  override: MessageOverride,
  rules: MessageRules,
): IncidentTerms | undefined {
  const row = findIncidentTerms(requiredText(event, 'incident_type'), rules.incidentVocabulary);
  const message_type = override.message_type ?? row?.message_type;
  if (message_type === undefined) return undefined;
  const pulse_genre = override.pulse_genre ?? (row && ownProperties(row).pulse_genre);
  return { message_type, ...(pulse_genre === undefined ? {} : { pulse_genre }) };
}
