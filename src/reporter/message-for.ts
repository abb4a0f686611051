/** What channel B is told of an event, or why it is told nothing (D46). */
import type { LogActor } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import { type SecurityEvent, type Service, securityEvent } from '../projection/security-event.ts';
import { securityResponse } from '../projection/security-response.ts';
import {
  type EventWords,
  type EventWordsTable,
  eventWords,
  type IncidentWords,
  type IncidentWordsTable,
  incidentWords,
} from '../projection/vocabulary-map.ts';
import type { EventKind, MessageChoice } from './event-input.ts';

/** The tables, and what else is the same for all events of a reporter. */
export interface MessageRules {
  readonly service: Service;
  readonly eventWords: EventWordsTable;
  readonly incidentWords: IncidentWordsTable;
  /** Of an event or incident, absolute; default `urn:uuid:<id>`. */
  readonly urlOf: (id: string) => string;
  /** Whether `urlOf` is the caller's. */
  readonly hasUrls: boolean;
  readonly newId: () => string;
}

/** An event whose record was made; nothing but plain data. */
export interface TellableEvent {
  readonly kind: EventKind;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly actor: LogActor | undefined;
  /** As channel B writes times (D23). */
  readonly occurredAt: string;
  readonly choice: MessageChoice;
}

export interface DraftMessage {
  readonly message_id: string;
  readonly message_type: string;
  readonly message: object;
  readonly v1?: object;
}

/** Why an event is not told on channel B although nothing is wrong with it. */
export type MessageSkip =
  /** logins, signups and custom events, unless the caller gives a message */
  | 'log-only'
  /** what has no type on channel B: an incident whose type has none there (D48), or a message of the
   * caller's, of an event that has none (D46), where the call names no `message_type` */
  | 'no-message-type'
  /** the caller said so: `webhook: false` */
  | 'not-wanted';

/** Of every kind but incidents, which {@link incidentWordsFor} is for. Throws like {@link textIn}. */
export function messageFor(event: TellableEvent, rules: MessageRules): DraftMessage | MessageSkip {
  const { choice } = event;
  if (choice.message !== undefined) return draft(event, choice.message, rules);
  switch (event.kind) {
    case 'attack':
    case 'vulnerabilityExploit':
      return draft(event, securityEventFor(event, rules), rules);
    case 'playbookTrigger':
      return draft(event, responseFor(event, rules), rules);
    default:
      return 'log-only';
  }
}

export const MESSAGE_TYPES: ReadonlyMap<EventKind, string> = new Map([
  ['attack', 'security_event'],
  ['vulnerabilityExploit', 'security_event'],
  ['playbookTrigger', 'security_response'],
]);

function draft(
  { kind, choice }: TellableEvent,
  message: object,
  { newId }: MessageRules,
): DraftMessage | MessageSkip {
  const message_type = choice.message_type ?? MESSAGE_TYPES.get(kind);
  if (message_type === undefined) return 'no-message-type';
  const { message_id = newId(), v1 } = choice;
  return { message_id, message_type, message, ...(v1 === undefined ? {} : { v1 }) };
}

function securityEventFor(event: TellableEvent, rules: MessageRules): SecurityEvent {
  const { payload, actor, occurredAt, choice } = event;
  const word = textIn(payload, event.kind === 'attack' ? 'ruleset' : 'protection');
  const row = eventWords(word, rules.eventWords);
  const { category = row.category, kind = row.kind, title = row.title } = choice;
  const words: EventWords = { category, kind, title };
  const id = rules.newId();
  const { service } = rules;
  return securityEvent({ service, words, ip: actor?.ip, occurredAt, id, url: rules.urlOf(id) });
}

function responseFor({ payload, actor }: TellableEvent, { service }: MessageRules): object {
  const name = textIn(payload, 'name');
  const playbook = { name, playbook_slug: textIn(payload, 'playbook_slug') };
  return securityResponse({ service, playbook, actor });
}

/**
 * What channel B cannot do without: the record may have been refused for the lack of it.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE`
 */
export function textIn(payload: TellableEvent['payload'], key: string): string {
  const value = Object.hasOwn(payload, key) ? payload[key] : undefined;
  if (typeof value === 'string') return value;
  const message = 'expected a string';
  throw new SecurityEventError('ERR_INVALID_MESSAGE', {
    issues: [{ path: ['payload', key], message }],
  });
}

/** How an incident is told; `undefined` where it is not (D48). Throws like {@link textIn}. */
export function incidentWordsFor(
  { payload, choice }: TellableEvent,
  rules: MessageRules,
): IncidentWords | undefined {
  const row = incidentWords(textIn(payload, 'incident_type'), rules.incidentWords);
  const message_type = choice.message_type ?? row?.message_type;
  if (message_type === undefined) return undefined;
  const pulse_genre = choice.pulse_genre ?? (row && ownProperties(row).pulse_genre);
  return { message_type, ...(pulse_genre === undefined ? {} : { pulse_genre }) };
}
