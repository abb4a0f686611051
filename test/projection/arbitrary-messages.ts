/** Generates messages that the contract accepts, of every type and genre. */
import fc from 'fast-check';
import { EVENT_CATEGORIES, EVENT_KINDS, PULSE_GENRES } from '../../src/contract/index.ts';
import { anyCharacter } from '../helpers/any-character.ts';

const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.constantFrom('', '__proto__', 'a\u2028b', '\ud800', '0'),
);

const time = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .chain((date) =>
    fc
      .constantFrom('+00:00', 'Z', '-11:30')
      .map((offset) => `${date.toISOString().slice(0, -1)}${offset}`),
  );

const url = fc.constantFrom('https://dashboard.example/e/1', 'urn:uuid:1', 'x:y');
const address = fc.oneof(fc.ipV4(), fc.constantFrom('::1', '2001:db8::9'));
const number = fc.double({ noNaN: true, noDefaultInfinity: true });
const code = fc.string({ unit: fc.constantFrom('A', 'F', 'R', 'Z'), minLength: 3, maxLength: 3 });

const geo = fc.oneof(
  fc.constant({}),
  fc.record(
    { city: text, code, point: fc.tuple(number, number) },
    { requiredKeys: ['code', 'point'] },
  ),
);

const resolvedIp = fc.record({ address, date_resolved: time, geo, is_tor: fc.boolean() });

const relatedIp = fc.record({
  address,
  date_resolved: time,
  geo,
  is_tor: fc.boolean(),
  vpn: fc.boolean(),
  proxy: fc.boolean(),
  datacenter: fc.boolean(),
  metadata: fc.record({
    version: fc.constantFrom(4, 6),
    multicast: fc.boolean(),
    private: fc.boolean(),
    global: fc.boolean(),
    unspecified: fc.boolean(),
    reserved: fc.boolean(),
    loopback: fc.boolean(),
  }),
  tags: fc.array(text, { maxLength: 2 }),
});

const json = fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });

const eventFields = {
  application_id: text,
  application_name: text,
  environment: text,
  event_category: fc.oneof(text, fc.constantFrom(...EVENT_CATEGORIES)),
  event_id: text,
  event_kind: fc.oneof(text, fc.constantFrom(...EVENT_KINDS)),
  event_url: url,
  humanized_description: text,
  ips: fc.array(resolvedIp, { maxLength: 3 }),
};

const event = fc.oneof(
  fc.record({ ...eventFields, date_occurred: time }),
  // D27
  fc.record({ ...eventFields, date_occured: time }),
);

const test = fc.record({
  application_id: text,
  application_name: text,
  environment: text,
  id: text,
  event_category: text,
  event_kind: text,
  date_occurred: time,
  humanized_description: text,
  url: text,
  ips: fc.array(resolvedIp, { maxLength: 3 }),
});

const response = fc.record({
  application: fc.record({ name: text, environment: text, id: text }),
  properties: fc.record({
    ips: fc.array(fc.record({ ip_cidr: fc.ipV4().map((ip) => `${ip}/32`) }), { maxLength: 2 }),
    user_identifiers: fc.array(json, { maxLength: 2 }),
  }),
  playbook: fc.record({ name: text, id: text }),
});

const incidentFields = {
  incident_thread: text,
  incident_status: fc.constantFrom('created', 'updated'),
  date_started: time,
  date_last_updated: time,
  application_id: text,
  new_related_ips: fc.array(relatedIp, { maxLength: 8 }),
};

const incident = fc.record(incidentFields);

const takeover = fc.record(
  {
    ...incidentFields,
    new_compromised_accounts: fc.array(
      fc.record({ svc_id: text, user_identifiers: json, ip_address: text }),
      { maxLength: 8 },
    ),
  },
  { requiredKeys: Object.keys(incidentFields) as (keyof typeof incidentFields)[] },
);

const INCIDENT_TYPES_WITHOUT_ACCOUNTS = [
  'vulnerable_packages',
  'http_scan',
  'user_risk_increased',
  ...['sql', 'nosql', 'shellshock', 'shell', 'xss', 'lfi', 'eval'].map(
    (word) => `injection_${word}`,
  ),
  ...['ssrf', 'xxe', 'deserialization'].map((word) => `injection_${word}`),
];

const nullable = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });
const absentAsUndefined = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });

const hints = fc.record(
  {
    pulse_genre: absentAsUndefined(fc.constantFrom(...PULSE_GENRES)),
    pulse_category: nullable(text),
    date_started: time,
    date_ended: nullable(time),
    humanized_title: text,
    humanized_accounts: nullable(text),
    humanized_geos: nullable(text),
    blocked: fc.boolean(),
    application_id: text,
    application_name: text,
    environment: text,
    id: absentAsUndefined(text),
    url: text,
    incidents_count: fc.integer(),
    user_agents_count: fc.integer(),
    ip_addresses_count: fc.integer(),
    accounts_count: fc.integer(),
  },
  { requiredKeys: [] },
);

const message_id = fc.string({ minLength: 1 });

const withType = (types: readonly string[], message: fc.Arbitrary<object>) =>
  fc.record({ message_id, message_type: fc.constantFrom(...types), message });

const incidentOf = (types: readonly string[], message: fc.Arbitrary<object>) =>
  fc.record(
    { message_id, message_type: fc.constantFrom(...types), message, v1: hints },
    { requiredKeys: ['message_id', 'message_type', 'message'] },
  );

export interface ArbitraryMessage {
  message_id: string;
  message_type: string;
  message: object;
  v1?: object;
}

export const messages: fc.Arbitrary<ArbitraryMessage> = fc.oneof(
  withType(['security_event'], event),
  withType(['security_response'], response),
  withType(['test'], test),
  incidentOf(['account_takeover'], takeover),
  incidentOf(INCIDENT_TYPES_WITHOUT_ACCOUNTS, incident),
);
