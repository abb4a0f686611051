/** The arguments of a reporter's methods. The current request supplies what they omit. */
import { isObject } from '../contract/dispatch.ts';
import type { Contract, Frozen, LogActor, LogHttp } from '../contract/index.ts';
import { ANYTHING, check, type Rules } from '../option-rules.ts';
import type { CompromisedAccount } from '../projection/event-messages.ts';
import type { EventTerms, IncidentTerms } from '../projection/vocabulary-map.ts';

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
  /** Default: the slug of the name. */
  readonly playbook_slug?: string;
}

type IncidentFields = PayloadOf<'svc.ev0.incident'>;

/** The record's payload, and two fields that only the message carries. */
export interface IncidentPayload extends Omit<IncidentFields, 'event_type'> {
  /** Default: `create` for the first report of the incident on a channel, then `update`. */
  readonly event_type?: IncidentFields['event_type'] | undefined;
  /** For the message: related addresses. Default: the actor's. */
  readonly related_ips?: readonly (string | Frozen<LogActor['ip']>)[] | undefined;
  /** For the message of an account takeover: the compromised accounts. Default: none. */
  readonly compromised_accounts?: readonly CompromisedAccount[] | undefined;
}

/**
 * Who caused an event. Missing parts come from the request, unless `ip` differs from its client's address.
 * Outside a request `ip` is required.
 */
export interface ActorInput {
  /** An address as text, to which `metadata` and `geo` are added; or an object with all three. */
  readonly ip?: string | Frozen<LogActor['ip']> | undefined;
  /** Strings, numbers or booleans by name; `null`: an unknown user. */
  readonly identifiers?: Frozen<LogActor['identifiers']> | undefined;
  /** Padded base64, from `encodeSvcIdentifier`. */
  readonly svc_identifier?: string | null | undefined;
}

/** Overrides parts of the message that is built from the event and the vocabulary tables. */
export interface MessageOverride extends Partial<EventTerms>, Partial<IncidentTerms> {
  /** Default: a UUID v7. */
  readonly message_id?: string;
  /** Rating of an attack or exploit, an integer from 0 to 100. Default: none. */
  readonly risk_coefficient?: number;
  /** The whole message, of type `message_type`: the only way to send logins, signups and custom events. */
  readonly message?: object;
  /** Fields of an incident's pulse in format 1. */
  readonly v1?: object;
}

/** The context of an event. Every key is optional. */
export interface EventContext {
  /** Default: the current request's. */
  readonly actor?: ActorInput | undefined;
  /** Default: the current request's. */
  readonly http?: Frozen<LogHttp> | undefined;
  /** ISO 8601 with an offset, or a Date. Default: now. */
  readonly detected_at?: string | Date | undefined;
  /** The name of the detector. An application's settings can choose the modules whose messages it gets. */
  readonly module?: string | undefined;
  /** `false`: no message is sent. */
  readonly webhook?: MessageOverride | false | undefined;
}

const CONTEXT_RULES = {
  actor: ANYTHING,
  http: ANYTHING,
  detected_at: ANYTHING,
  module: ANYTHING,
  webhook: ANYTHING,
} satisfies Rules<keyof EventContext>;

const OVERRIDE_RULES = {
  message_id: ANYTHING,
  risk_coefficient: ANYTHING,
  message: ANYTHING,
  v1: ANYTHING,
  category: ANYTHING,
  kind: ANYTHING,
  title: ANYTHING,
  message_type: ANYTHING,
  pulse_genre: ANYTHING,
} satisfies Rules<keyof MessageOverride>;

/**
 * Throws `ERR_INVALID_OPTION` for a key that no event would use, such as a misspelled one. `own` has the
 * context's own keys.
 */
export function checkContextKeys(given: unknown, own: EventContext): void {
  const subject = { name: 'context', path: ['context'] };
  check(isObject(given) ? own : given, CONTEXT_RULES, subject);
  const { webhook } = own;
  if (!isObject(webhook)) return;
  check(webhook, OVERRIDE_RULES, { name: 'context.webhook', path: ['context', 'webhook'] });
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
