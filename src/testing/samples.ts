/** Valid samples: log records, messages as sent, messages for `sendWebhook`, and messages in format 1. */
import { hash } from 'node:crypto';
import {
  API_VERSION,
  EVENT_VERSION,
  type LogRecord,
  type WebhookMessageToSend,
  type WebhookMessageV1,
  type WebhookMessageV2,
} from '../contract/index.ts';
import { invalidOption } from '../option-rules.ts';

/** Some fields of `T`, at any depth. Objects are merged, other values are replaced; `undefined` removes a field. */
export type Overrides<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? string extends keyof T
      ? T
      : { readonly [K in keyof T]?: Overrides<T[K]> | undefined }
    : T;

/** Returns a copy of `base` with the `overrides`; objects are merged. */
export function override<T>(base: T, overrides: unknown): T {
  return merged(structuredClone(base), overrides) as T;
}

function merged(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over;
  // Entries, so that `__proto__` is an ordinary key.
  const fields = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) fields.delete(key);
    else fields.set(key, merged(fields.get(key), value));
  }
  return Object.fromEntries(fields);
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The message types, including those that begin with `injection_`. */
export type SampleMessageType = WebhookMessageV2['message_type'];
export type SamplePayloadType = WebhookMessageV1['svc_payload_type'];

type MemberWith<T, K extends PropertyKey, N> = T extends { readonly [_ in K]: infer E }
  ? N extends E
    ? T
    : never
  : never;

/** The v2 message of a type, or of several types if `N` is a union. */
export type MessageOf<N extends SampleMessageType> = N extends unknown
  ? MemberWith<WebhookMessageV2, 'message_type', N>
  : never;
export type MessageToSendOf<N extends SampleMessageType> = N extends unknown
  ? MemberWith<WebhookMessageToSend, 'message_type', N>
  : never;
export type MessageV1Of<N extends SamplePayloadType> = N extends unknown
  ? MemberWith<WebhookMessageV1, 'svc_payload_type', N>
  : never;

const HAPPENED_AT = '2026-11-21T10:00:00.000+00:00';

/** Each type has its own id: receivers skip a message whose id they know. */
const idOf = (type: string): string =>
  `01a1fd8c-6900-7000-8000-${hash('sha256', type).slice(0, 12)}`;

const APPLICATION = {
  application_id: 'shop-1',
  application_name: 'shop',
  environment: 'production',
};

const IP = { address: '203.0.113.9', date_resolved: HAPPENED_AT, geo: {}, is_tor: false };

const EVENT = {
  ...APPLICATION,
  date_occurred: HAPPENED_AT,
  event_category: 'injection',
  event_id: 'event-1',
  event_kind: 'sql_injection',
  event_url: 'https://dashboard.example/events/event-1',
  humanized_description: 'SQL injection from 203.0.113.9',
  ips: [IP],
};

const RESPONSE = {
  application: { name: 'shop', environment: 'production', id: 'shop-1' },
  properties: { ips: [{ ip_cidr: '203.0.113.9/32' }], user_identifiers: [] },
  playbook: { name: 'Block IPs', id: 'block_ips' },
};

const TEST = {
  ...APPLICATION,
  id: 'test-1',
  event_category: 'test',
  event_kind: 'test_kind',
  date_occurred: HAPPENED_AT,
  humanized_description: 'A test',
  url: 'https://dashboard.example/tests/test-1',
  ips: [],
};

const INCIDENT: MessageOf<'http_scan'>['message'] = {
  incident_thread: 'incident-1',
  incident_status: 'created',
  date_started: HAPPENED_AT,
  date_last_updated: HAPPENED_AT,
  application_id: 'shop-1',
  new_related_ips: [],
};

const PULSE: Omit<MessageV1Of<'pulse'>, 'svc_payload_type'> = {
  pulse_genre: 'http_scan',
  pulse_category: null,
  date_started: HAPPENED_AT,
  date_ended: null,
  humanized_title: 'Security scan',
  humanized_accounts: null,
  humanized_geos: null,
  blocked: false,
  ...APPLICATION,
  id: 'incident-1',
  url: 'https://dashboard.example/incidents/incident-1',
  incidents_count: 1,
  user_agents_count: 1,
  ip_addresses_count: 1,
  accounts_count: 0,
};

type InjectionType = `injection_${string}`;

/** The content of each type; every injection is an incident. */
const CONTENTS: {
  readonly [N in Exclude<SampleMessageType, InjectionType>]: MessageOf<N>['message'];
} = {
  security_event: EVENT,
  security_response: RESPONSE,
  test: TEST,
  vulnerable_packages: INCIDENT,
  http_scan: INCIDENT,
  user_risk_increased: INCIDENT,
  account_takeover: INCIDENT,
};

/** The fields of each `svc_payload_type`. */
const ELEMENTS: {
  readonly [N in SamplePayloadType]: Omit<MessageV1Of<N>, 'svc_payload_type'>;
} = {
  security_event: EVENT,
  pulse: PULSE,
  security_response: { id: idOf('security_response'), date_created: HAPPENED_AT, ...RESPONSE },
  test: TEST,
};

const contentOf = (type: SampleMessageType): object =>
  /^injection_\S+$/.test(type)
    ? INCIDENT
    : known({ ...CONTENTS, 'injection_…': INCIDENT }, type, 'messageType');

/** Returns the value of a name. Throws ERR_INVALID_OPTION for an unknown name, which types alone exclude. */
function known(values: Readonly<Record<string, object>>, name: string, argument: string): object {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value !== undefined) return value;
  const names = Object.keys(values).join(', ');
  throw invalidOption(`${argument}: expected one of ${names}`, [argument]);
}

/**
 * Returns a new v2 message as receivers get it, always with the same content: the smallest valid one of its type (default
 * `security_event`). Overrides are not validated, so you can make invalid messages.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION` for an unknown name.
 */
export function sampleMessage<N extends SampleMessageType = 'security_event'>(
  messageType?: N,
  overrides?: Overrides<MessageOf<N>>,
): MessageOf<N> {
  const message_type: SampleMessageType = messageType ?? 'security_event';
  const message = {
    message_id: idOf(message_type),
    api_version: API_VERSION,
    date_created: HAPPENED_AT,
    message_type,
    retry_count: 0,
    message: contentOf(message_type),
  };
  return override(message, overrides ?? {}) as unknown as MessageOf<N>;
}

/** Returns a message for `sendWebhook`: without the fields that the sender adds, but with a `message_id`. Throws like {@link sampleMessage}. */
export function sampleMessageToSend<N extends SampleMessageType = 'security_event'>(
  messageType?: N,
  overrides?: Overrides<MessageToSendOf<N>>,
): MessageToSendOf<N> {
  const message_type: SampleMessageType = messageType ?? 'security_event';
  const message = {
    message_id: idOf(message_type),
    message_type,
    message: contentOf(message_type),
  };
  return override(message, overrides ?? {}) as unknown as MessageToSendOf<N>;
}

/** Returns a message of format 1 (default `security_event`). Throws like {@link sampleMessage}. */
export function sampleMessageV1<N extends SamplePayloadType = 'security_event'>(
  payloadType?: N,
  overrides?: Overrides<MessageV1Of<N>>,
): MessageV1Of<N> {
  const svc_payload_type: SamplePayloadType = payloadType ?? 'security_event';
  const element = { svc_payload_type, ...known(ELEMENTS, svc_payload_type, 'payloadType') };
  return override(element, overrides ?? {}) as unknown as MessageV1Of<N>;
}

/** The names of the seven events, and of exploits with their protection as suffix. */
export type SampleEventName = LogRecord['event_name'];

/** The record of an event, or of several events if `N` is a union. */
export type RecordOf<N extends SampleEventName> = N extends unknown
  ? MemberWith<LogRecord, 'event_name', N>
  : never;

const EXPLOIT = 'svc.ev0.threat.vulnerability_exploit';

/** The smallest payload of each event. */
const PAYLOADS: {
  readonly [N in Exclude<SampleEventName, `${typeof EXPLOIT}.${string}`>]: RecordOf<N>['payload'];
} = {
  'svc.ev0.threat.attack': { ruleset: 'sql_injection' },
  [EXPLOIT]: { protection: 'lfi' },
  'svc.ev0.incident': {
    event_type: 'create',
    incident_id: 'incident-1',
    incident_type: 'massive_sec_scan',
    name: 'Security scan',
    severity: 'major',
  },
  'svc.ev0.playbook_trigger': { name: 'Block IPs', playbook_slug: 'block_ips' },
  'svc.ev0.user_event.login': { success: true },
  'svc.ev0.user_event.signup': { success: true },
  'svc.ev0.custom_event': { event_name: 'checkout', options: { amount: 12.5 } },
};

const SHARED = {
  context: { service: { env: 'production', name: 'shop', svc_id: 'shop-1' } },
  detected_at: '2026-11-21T10:00:00.000+00:00',
};

/**
 * Returns a new record, always with the same content: the smallest valid one of its event (default
 * `svc.ev0.threat.attack`). Overrides are not validated, so you can make invalid records.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION` for an unknown name.
 */
export function sampleRecord<N extends SampleEventName = 'svc.ev0.threat.attack'>(
  eventName?: N,
  overrides?: Overrides<RecordOf<N>>,
): RecordOf<N> {
  const event_name: SampleEventName = eventName ?? 'svc.ev0.threat.attack';
  const record = {
    ...SHARED,
    event_name,
    event_version: EVENT_VERSION,
    payload: payloadOf(event_name),
  };
  return override(record, overrides ?? {}) as unknown as RecordOf<N>;
}

function payloadOf(name: SampleEventName): object {
  if (name.startsWith(`${EXPLOIT}.`)) return { protection: name.slice(EXPLOIT.length + 1) };
  return known(PAYLOADS, name, 'eventName');
}
