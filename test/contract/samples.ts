/**
 * One complete valid value for each event, message and element type, with every optional key: those of
 * the package's folder samples/. Tests change copies of them.
 */
import { join } from 'node:path';
import {
  type SampleEventName,
  type SampleMessageType,
  type SamplePayloadType,
  sampleMessage,
  sampleMessageV1,
  sampleRecord,
} from '../../src/testing/index.ts';
import { root } from '../helpers/package-files.ts';

/** Returns the optional fields of a kind. */
type OptionalFields<T> = (kind: string) => T;

const { fullRecord, fullMessage, fullElement } = (await import(
  /* @vite-ignore */ join(root, 'scripts/sample-files/full-fields.mjs')
)) as {
  readonly fullRecord: OptionalFields<never>;
  readonly fullMessage: OptionalFields<{ readonly message: never }>;
  readonly fullElement: OptionalFields<never>;
};

/** Records are written with sorted keys. */
function sorted<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, part]) => [key, sorted(part)])) as T;
}

const record = <N extends SampleEventName>(name: N) => sorted(sampleRecord(name, fullRecord(name)));

export const RECORDS = {
  attack: record('svc.ev0.threat.attack'),
  exploit: record('svc.ev0.threat.vulnerability_exploit'),
  'suffixed exploit': record('svc.ev0.threat.vulnerability_exploit.lfi'),
  incident: record('svc.ev0.incident'),
  'playbook trigger': record('svc.ev0.playbook_trigger'),
  login: record('svc.ev0.user_event.login'),
  signup: record('svc.ev0.user_event.signup'),
  'custom event': record('svc.ev0.custom_event'),
};

/** The attributes of all log platforms at once (D18). */
const PLATFORM_ATTRIBUTES = {
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  span_id: 'b7ad6b7169203331',
  trace_flags: '01',
  dd: { trace_id: '123', span_id: '456', service: 'shop', env: 'production', version: '1.2.3' },
  service: 'shop',
  env: 'production',
  'network.client.ip': '203.0.113.9',
  'http.method': 'POST',
  'http.url': 'https://shop.example/login',
  'http.status_code': 403,
  'http.useragent': 'curl/8.5.0',
  'usr.id': 'u-1',
  'trace.id': '0af7651916cd43dd8448eb211c80319c',
  'span.id': 'b7ad6b7169203331',
  'transaction.id': 'b7ad6b7169203332',
  'service.name': 'shop',
  'service.environment': 'production',
  'client.ip': '203.0.113.9',
  'user.id': 'u-1',
  'http.request.method': 'POST',
  'http.response.status_code': 403,
  'url.scheme': 'https',
  'url.domain': 'shop.example',
  'url.port': 443,
  'url.path': '/login',
  'user_agent.original': 'curl/8.5.0',
};

export const LINE = { ...RECORDS.attack, ...PLATFORM_ATTRIBUTES };

const message = <T extends SampleMessageType>(type: T) =>
  sampleMessage(type, fullMessage(type) as never);

export const MESSAGES = {
  security_event: message('security_event'),
  security_response: message('security_response'),
  test: message('test'),
  vulnerable_packages: message('vulnerable_packages'),
  http_scan: message('http_scan'),
  user_risk_increased: message('user_risk_increased'),
  account_takeover: message('account_takeover'),
  injection_sql: message('injection_sql'),
};

const element = <T extends SamplePayloadType>(type: T) => sampleMessageV1(type, fullElement(type));

export const ELEMENTS = {
  'security_event (v1)': element('security_event'),
  pulse: element('pulse'),
  'security_response (v1)': element('security_response'),
  'test (v1)': element('test'),
};

const { svc_payload_type: _, ...pulse } = ELEMENTS.pulse;
export const PULSE_DETAILS = pulse;

interface Sent<T, M> {
  readonly message_id: string;
  readonly message_type: T;
  readonly message: M;
}

const toSend = <T, M>({ message_id, message_type, message: content }: Sent<T, M>) => ({
  message_id,
  message_type,
  message: content,
});

/** What a caller hands to the senders (no envelope). */
export const DRAFTS = {
  'event to send': toSend(MESSAGES.security_event),
  'response to send': toSend(MESSAGES.security_response),
  'test to send': toSend(MESSAGES.test),
  'incident to send': { ...toSend(MESSAGES.http_scan), v1: PULSE_DETAILS },
  'takeover to send': { ...toSend(MESSAGES.account_takeover), v1: PULSE_DETAILS },
  'injection to send': { ...toSend(message('injection_xxe')), v1: PULSE_DETAILS },
};

export const SAMPLES = { ...RECORDS, line: LINE, ...MESSAGES, ...ELEMENTS, ...DRAFTS } as const;
export type SampleName = keyof typeof SAMPLES;

export const namesOf = <T extends object>(samples: T): (keyof T & SampleName)[] =>
  Object.keys(samples) as (keyof T & SampleName)[];
