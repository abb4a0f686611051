/**
 * One complete valid value for each event, message and element type: every optional key is there,
 * and keys are in the order in which they are written. Tests change copies of them.
 */

const SERVICE = { env: 'production', name: 'shop', svc_id: 'svc-7' };

const IP_METADATA = {
  datacenter: { name: 'Example Hosting', url: 'https://hosting.example' },
  global: true,
  loopback: false,
  multicast: false,
  network_type: 'public',
  private: false,
  proxy: false,
  reserved: false,
  tor: true,
  unspecified: false,
  version: 4,
  vpn: false,
};

const REQUEST = {
  host: 'shop.example',
  parameters: {
    form: { user: 'jane', tags: ['a', 'b'] },
    json: { deep: { list: [1, null, true] } },
    other: { id: '7' },
    query: { q: "' OR 1=1" },
  },
  path: '/login',
  port: 443,
  referer: null,
  remote_ip: '203.0.113.9',
  remote_port: '41234',
  scheme: 'https',
  user_agent: 'curl/8.5.0',
  verb: 'POST',
};

const CONTEXT = {
  actor: {
    identifiers: { id: 'u-1', age: 44, admin: false },
    ip: {
      address: '203.0.113.9',
      geo: { city: 'Lyon', country_code: 'FRA', latitude: 45.76, longitude: 4.84 },
      metadata: IP_METADATA,
    },
    svc_identifier: 'dS0x',
  },
  http: { request: REQUEST, response: { blocked: true, status: 403 } },
  service: SERVICE,
};

const record = <N extends string, P extends object>(event_name: N, payload: P) => ({
  context: CONTEXT,
  detected_at: '2026-11-21T10:00:00.123+00:00',
  event_name,
  event_version: '1.0.0',
  payload,
});

export const RECORDS = {
  attack: record('svc.ev0.threat.attack', { ruleset: 'sql_injection' }),
  exploit: record('svc.ev0.threat.vulnerability_exploit', { protection: 'lfi' }),
  'suffixed exploit': record('svc.ev0.threat.vulnerability_exploit.lfi', { protection: 'lfi' }),
  incident: record('svc.ev0.incident', {
    event_type: 'create',
    incident_id: 'inc-1',
    incident_type: 'massive_sec_scan',
    name: 'Security scan',
    severity: 'major',
  }),
  'playbook trigger': record('svc.ev0.playbook_trigger', {
    name: 'Block IPs v2.1 - Account Takeover',
    playbook_slug: 'block_ips_v2.1_account_takeover',
  }),
  login: record('svc.ev0.user_event.login', { success: true }),
  signup: record('svc.ev0.user_event.signup', { success: false }),
  'custom event': record('svc.ev0.custom_event', {
    event_name: 'coupon',
    options: { code: 'X1', amount: 2.5, nested: { list: [null] } },
    sdk_event_name: 'coupon',
  }),
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

const RESOLVED_IP = {
  address: '203.0.113.9',
  date_resolved: '2026-11-21T09:59:00.000+00:00',
  geo: { city: 'Lyon', code: 'FRA', point: [4.84, 45.76] },
  is_tor: false,
};

const RELATED_IP = {
  address: '2001:db8::9',
  date_resolved: '2026-11-21T09:59:00.000+00:00',
  geo: { city: 'Lyon', code: 'FRA', point: [4.84, 45.76] },
  is_tor: false,
  vpn: true,
  proxy: false,
  datacenter: true,
  metadata: {
    version: 6,
    multicast: false,
    private: false,
    global: true,
    unspecified: false,
    reserved: false,
    loopback: false,
  },
  tags: ['scanner'],
};

const EVENT = {
  application_id: 'app-1',
  application_name: 'shop',
  environment: 'production',
  date_occurred: '2026-11-21T10:00:00.000+00:00',
  event_category: 'injection',
  event_id: 'ev-1',
  event_kind: 'sql_injection',
  event_url: 'https://dashboard.example/events/ev-1',
  humanized_description: 'SQL injection from 203.0.113.9',
  ips: [RESOLVED_IP],
};

const RESPONSE = {
  application: { name: 'shop', environment: 'production', id: 'app-1' },
  properties: {
    ips: [{ ip_cidr: '203.0.113.9/32' }],
    user_identifiers: [{ email: 'jane@example.com' }],
  },
  playbook: { name: 'Block IPs', id: 'block_ips' },
};

const TEST = {
  application_id: 'app-1',
  application_name: 'shop',
  environment: 'production',
  id: 'test-1',
  event_category: 'test',
  event_kind: 'test_kind',
  date_occurred: '2026-11-21T10:00:00.000+00:00',
  humanized_description: 'A test',
  url: 'https://dashboard.example/tests/1',
  ips: [RESOLVED_IP],
};

const INCIDENT = {
  incident_thread: 'inc-1',
  incident_status: 'created',
  date_started: '2026-11-21T09:00:00.000+00:00',
  date_last_updated: '2026-11-21T10:00:00.000+00:00',
  application_id: 'app-1',
  new_related_ips: [RELATED_IP],
};

const TAKEOVER = {
  ...INCIDENT,
  new_compromised_accounts: [
    { svc_id: 'svc-7', user_identifiers: { email: 'j@example.com' }, ip_address: '203.0.113.9' },
  ],
};

const message = <T extends string, M extends object>(message_type: T, content: M) => ({
  message_id: '019394ad-0000-7000-8000-000000000001',
  api_version: '2',
  date_created: '2026-11-21T10:00:01.000+00:00',
  message_type,
  retry_count: 0,
  message: content,
});

export const MESSAGES = {
  security_event: message('security_event', { ...EVENT, risk_coefficient: 60 }),
  security_response: message('security_response', RESPONSE),
  test: message('test', { ...TEST, risk_coefficient: 60 }),
  vulnerable_packages: message('vulnerable_packages', INCIDENT),
  http_scan: message('http_scan', INCIDENT),
  user_risk_increased: message('user_risk_increased', INCIDENT),
  account_takeover: message('account_takeover', TAKEOVER),
  injection_sql: message('injection_sql', INCIDENT),
};

const EVENT_EXTRAS = {
  risk: 60,
  application_account_account_id: 'acc-1',
  application_account_account_keys: [{ name: 'email', value: 'jane@example.com' }],
  application_account_url: 'https://dashboard.example/accounts/1',
};

export const PULSE_DETAILS = {
  pulse_genre: 'http_scan',
  pulse_category: 'scan',
  date_started: '2026-11-21T09:00:00.000+00:00',
  date_ended: '2026-11-21T10:00:00.000+00:00',
  humanized_title: 'A scan',
  humanized_accounts: 'jane',
  humanized_geos: 'France',
  blocked: false,
  application_id: 'app-1',
  application_name: 'shop',
  environment: 'production',
  id: 'inc-1',
  url: 'urn:uuid:019394ad-0000-7000-8000-000000000001',
  incidents_count: 1,
  user_agents_count: 0,
  ip_addresses_count: 2,
  accounts_count: 3,
};

export const ELEMENTS = {
  'security_event (v1)': {
    svc_payload_type: 'security_event',
    ...EVENT,
    ...EVENT_EXTRAS,
    id: 'ev-1',
    url: 'https://dashboard.example/events/ev-1',
  },
  pulse: { svc_payload_type: 'pulse', ...PULSE_DETAILS },
  'security_response (v1)': {
    id: 'msg-1',
    svc_payload_type: 'security_response',
    date_created: '2026-11-21T10:00:01.000+00:00',
    ...RESPONSE,
  },
  'test (v1)': { svc_payload_type: 'test', ...TEST, ...EVENT_EXTRAS },
};

const toSend = <T extends string, M extends object>(message_type: T, content: M) => ({
  message_id: 'msg-1',
  message_type,
  message: content,
});

/** What a caller hands to the senders (no envelope). */
export const DRAFTS = {
  'event to send': toSend('security_event', { ...EVENT, risk_coefficient: 60 }),
  'response to send': toSend('security_response', RESPONSE),
  'test to send': toSend('test', { ...TEST, risk_coefficient: 60 }),
  'incident to send': { ...toSend('http_scan', INCIDENT), v1: PULSE_DETAILS },
  'takeover to send': { ...toSend('account_takeover', TAKEOVER), v1: PULSE_DETAILS },
  'injection to send': { ...toSend('injection_xxe', INCIDENT), v1: PULSE_DETAILS },
};

export const SAMPLES = { ...RECORDS, line: LINE, ...MESSAGES, ...ELEMENTS, ...DRAFTS } as const;
export type SampleName = keyof typeof SAMPLES;

export const namesOf = <T extends object>(samples: T): (keyof T & SampleName)[] =>
  Object.keys(samples) as (keyof T & SampleName)[];
