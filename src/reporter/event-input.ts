/** What a caller gives for an event. The request scope supplies the rest. */
import type { Contract, Frozen, LogActor, LogHttp } from '../contract/index.ts';
import type { CompromisedAccount } from '../projection/event-messages.ts';
import type { EventWords, IncidentWords } from '../projection/vocabulary-map.ts';

type OpenRecord = Contract<'open'>['LogRecord']['_zod']['input'];
type PayloadOf<N extends OpenRecord['event_name']> = Extract<
  OpenRecord,
  { readonly event_name: N }
>['payload'];

export type AttackPayload = PayloadOf<'svc.ev0.threat.attack'>;
export type ExploitPayload = PayloadOf<'svc.ev0.threat.vulnerability_exploit'>;
export type UserEventPayload = PayloadOf<'svc.ev0.user_event.login'>;
export type CustomOptions = PayloadOf<'svc.ev0.custom_event'>['options'];

export interface PlaybookPayload {
  readonly name: string;
  /** Default: the slug of the name (D16). */
  readonly playbook_slug?: string;
}

type IncidentFields = PayloadOf<'svc.ev0.incident'>;

/** The record's payload, and two fields that only the message carries. */
export interface IncidentPayload extends Omit<IncidentFields, 'event_type'> {
  /** Default: `create` for the first report of the incident on a channel, then `update` (D50). */
  readonly event_type?: IncidentFields['event_type'];
  /** Channel B: addresses that have to do with it. Default: the actor's. */
  readonly related_ips?: readonly (string | Frozen<LogActor['ip']>)[];
  /** Channel B, of account takeovers: those that were taken over. Default: none. */
  readonly compromised_accounts?: readonly CompromisedAccount[];
}

/** Whoever caused an event. What is missing is taken from the request scope. */
export interface ActorInput {
  /** The address alone is enough: its facts are filled in. */
  readonly ip?: string | Frozen<LogActor['ip']>;
  /** Strings, numbers or booleans by name (D10); `null`: nobody who is known. */
  readonly identifiers?: Frozen<LogActor['identifiers']>;
  /** Padded base64, as `encodeSvcIdentifier` makes it (D11). */
  readonly svc_identifier?: string | null;
}

/** Overrides of the message that the tables would make (D46 to D48). */
export interface MessageOverride extends Partial<EventWords>, Partial<IncidentWords> {
  /** Default: a UUID v7. */
  readonly message_id?: string;
  /** Rating of an attack or exploit, an integer from 0 to 100 (D81). Default: none. */
  readonly risk_coefficient?: number;
  /** The whole message, of the type `message_type`; logins, signups and custom events have none else. */
  readonly message?: object;
  /** Fields of an incident's form in format v1 (D43). */
  readonly v1?: object;
}

/** Beside an event's payload; all of it may be left out. */
export interface EventContext {
  /** Default: that of the current request. */
  readonly actor?: ActorInput;
  /** Default: that of the current request. */
  readonly http?: Frozen<LogHttp>;
  /** ISO 8601 with an offset, or a Date. Default: now. */
  readonly detected_at?: string | Date;
  /** What detected it: applications choose by it what they are sent (D60). */
  readonly module?: string;
  /** `false`: no message is sent. */
  readonly webhook?: MessageOverride | false;
}

/** Which method was called. */
export type EventKind =
  | 'attack'
  | 'vulnerabilityExploit'
  | 'incident'
  | 'playbookTrigger'
  | 'userLogin'
  | 'userSignup'
  | 'customEvent';
