/**
 * What the compiler promises. `tsc` checks these lines; a wrong one fails the build of the types.
 */
import type * as z from 'zod';
import type {
  Contract,
  LogActor,
  LogContext,
  LogHttp,
  LogRecord,
  LogRecordInput,
  MessageToSendSchema,
  received,
  WebhookMessageToSend,
  WebhookMessageV1,
  WebhookMessageV2,
} from '../../src/contract/index.ts';
import { type Equal, type IsAny, same } from './equal-types.ts';

same<Equal<IsAny<LogRecord>, false>>();
same<Equal<IsAny<WebhookMessageV2>, false>>();
same<Equal<IsAny<WebhookMessageV1>, false>>();
same<Equal<IsAny<WebhookMessageToSend>, false>>();

// The named types of messages to send are what the schema accepts, with lists of any kind.
type Accepted = z.input<MessageToSendSchema<'strict'>>;
type ReadonlyLists<T> = T extends readonly (infer Element)[]
  ? readonly ReadonlyLists<Element>[]
  : T extends Readonly<Record<string, unknown>>
    ? { readonly [Key in keyof T]: ReadonlyLists<T[Key]> }
    : T;
same<Accepted extends WebhookMessageToSend ? true : false>();
same<WebhookMessageToSend extends ReadonlyLists<Accepted> ? true : false>();

// The parts of a record have names of their own, and what has them can be written.
same<Equal<IsAny<LogContext | LogActor | LogHttp>, false>>();
same<LogContext extends LogRecordInput['context'] ? true : false>();
export const actor: LogActor = {
  identifiers: { id: 'u-1', age: 44, admin: false },
  ip: {} as LogActor['ip'],
  svc_identifier: null,
};
export const http: LogHttp = { request: {}, response: { blocked: true } };
export const context: LogContext = {
  actor,
  http,
  service: { env: 'prod', name: 'shop', svc_id: 's' },
};
// @ts-expect-error a context without a service (D4)
export const wrongContext: LogContext = { actor, http };

export function narrowsByEventName(record: LogRecord): string {
  if (record.event_name === 'svc.ev0.incident') {
    same<Equal<typeof record.detected_at, string | null>>();
    same<Equal<typeof record.payload.severity, 'minor' | 'major' | 'critical'>>();
    return record.payload.incident_id;
  }
  same<Equal<typeof record.detected_at, string>>();
  if (record.event_name === 'svc.ev0.threat.attack') return record.payload.ruleset;
  if (record.event_name === 'svc.ev0.user_event.login') return String(record.payload.success);
  // @ts-expect-error another event's payload has no ruleset
  return record.payload.ruleset;
}

export function narrowsByMessageType(message: WebhookMessageV2): string {
  switch (message.message_type) {
    case 'security_event':
      return message.message.event_id;
    case 'security_response':
      return message.message.playbook.id;
    case 'test':
      return message.message.humanized_description;
    case 'account_takeover':
      return message.message.new_compromised_accounts?.[0]?.svc_id ?? '';
    default:
      return message.message.incident_thread;
  }
}

export function narrowsByPayloadType(element: WebhookMessageV1): string {
  if (element.svc_payload_type === 'pulse') return element.pulse_genre;
  if (element.svc_payload_type === 'security_response') return element.playbook.name;
  return element.humanized_description;
}

// Known words are literal types; open vocabularies accept any string.
export const attack: LogRecordInput = {
  context: { service: { env: 'prod', name: 'shop', svc_id: 's' } },
  detected_at: '2026-11-21T10:00:00Z',
  event_name: 'svc.ev0.threat.attack',
  event_version: '1.0.0',
  payload: { ruleset: 'sql_injection' },
};
export const suffixed: LogRecordInput = {
  ...attack,
  event_name: 'svc.ev0.threat.vulnerability_exploit.lfi',
  payload: { protection: 'lfi' },
};
// @ts-expect-error a closed vocabulary takes its words only
export const wrongWord: LogRecordInput = { ...attack, payload: { ruleset: 'made_up' } };

type OpenRecord = z.input<Contract<'open'>['LogRecord']>;
export const openWord: OpenRecord = { ...attack, payload: { ruleset: 'made_up' } };

export const category = (message: WebhookMessageV2): string | undefined =>
  message.message_type === 'security_event' ? message.message.event_category : undefined;

// The received reading keeps unknown keys and knows that an id may be null.
type ReceivedMessage = z.output<typeof received.WebhookMessageV2>;
same<Equal<ReceivedMessage['message_id'], string | null>>();
same<Equal<LogRecord['context']['service']['svc_id'], string>>();
