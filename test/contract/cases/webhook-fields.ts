/** Sections B and C of the contract, row by row. */
import { DRAFTS, ELEMENTS, MESSAGES, namesOf, type SampleName } from '../samples.ts';
import {
  type FieldRow,
  type Given,
  NO_OBJECT,
  no,
  nullable,
  ok,
  onlyReceived,
  optional,
  optionalReceived,
  required,
  table,
} from './case.ts';
import {
  ARRAY,
  COUNT,
  closedWord,
  FLAG,
  FREE_OBJECT,
  INTEGER,
  integerBetween,
  NON_EMPTY,
  NUMBER,
  OBJECT,
  TEXT,
  word,
} from './fields.ts';
import { ADDRESS, CIDR, COUNTRY, TIMESTAMP, URL_TEXT } from './formats.ts';
import { WORDS } from './words.ts';

type Rows = Readonly<Record<string, readonly Given[]>>;

/** D26: any string, known or not. */
const openWords = (known: readonly string[]): Given[] =>
  required({ ...TEXT, given: ok(...known, 'a new word', '') });

const COORDINATE = required({ ...NUMBER, wrongKinds: ['a string'] }).filter(
  ({ value }) => typeof value !== 'symbol',
);

const GEO_FIELDS: Rows = {
  city: optional(TEXT),
  code: required(COUNTRY),
  point: [
    ...required({ ...ARRAY, given: ok([0, 0], [-179.9, 89]) }),
    ...no('expected at most 2 elements, found 3', [1, 2, 3]),
  ],
  'point.0': COORDINATE,
  'point.1': COORDINATE,
};

/** D28 */
const RESOLVED_IP: Rows = {
  address: required(ADDRESS),
  date_resolved: required(TIMESTAMP),
  geo: [...optionalReceived(OBJECT), ...ok({})],
  is_tor: optionalReceived(FLAG),
};

const under = (prefix: string, rows: Rows): Rows =>
  Object.fromEntries(Object.entries(rows).map(([field, given]) => [`${prefix}.${field}`, given]));

const IPS: Rows = {
  ips: required(ARRAY),
  'ips.0': [
    ...no('expected an object, found null', null),
    ...no('expected an object, found a string', '203.0.113.9'),
  ],
  ...under('ips.0', RESOLVED_IP),
  ...under('ips.0.geo', GEO_FIELDS),
};

const EVENT: Rows = {
  application_id: required(TEXT),
  application_name: required(TEXT),
  environment: required(TEXT),
  date_occurred: required(TIMESTAMP),
  event_category: openWords(WORDS.eventCategories),
  event_id: required(TEXT),
  event_kind: openWords(WORDS.eventKinds),
  event_url: required(URL_TEXT),
  humanized_description: required(TEXT),
  ...IPS,
};

const RELATED_FLAGS = ['is_tor', 'vpn', 'proxy', 'datacenter'];
const METADATA_FLAGS = ['multicast', 'private', 'global', 'unspecified', 'reserved', 'loopback'];

const flags = (names: readonly string[]): Rows =>
  Object.fromEntries(names.map((name) => [name, required(FLAG)]));

const RELATED_IP: Rows = {
  address: required(ADDRESS),
  date_resolved: required(TIMESTAMP),
  geo: [...required(OBJECT), ...ok({})],
  ...flags(RELATED_FLAGS),
  metadata: required(OBJECT),
  'metadata.version': required(INTEGER),
  ...under('metadata', flags(METADATA_FLAGS)),
  tags: required(ARRAY),
  'tags.0': [...ok(''), ...no('expected a string, found null', null)],
};

const INCIDENT: Rows = {
  incident_thread: required(TEXT),
  incident_status: required(closedWord(WORDS.incidentStatuses, 'create', 'closed')),
  date_started: required(TIMESTAMP),
  date_last_updated: required(TIMESTAMP),
  application_id: required(TEXT),
  new_related_ips: required(ARRAY),
  ...under('new_related_ips.0', RELATED_IP),
  ...under('new_related_ips.0.geo', GEO_FIELDS),
};

const ACCOUNTS: Rows = {
  new_compromised_accounts: optional(ARRAY),
  'new_compromised_accounts.0.svc_id': required(TEXT),
  'new_compromised_accounts.0.user_identifiers': required(FREE_OBJECT),
  'new_compromised_accounts.0.ip_address': required(TEXT),
};

/** D29 */
const RESPONSE: Rows = {
  application: required(OBJECT),
  'application.name': required(TEXT),
  'application.environment': required(TEXT),
  'application.id': required(TEXT),
  properties: required(OBJECT),
  'properties.ips': required(ARRAY),
  'properties.ips.0': no('expected an object, found null', null),
  'properties.ips.0.ip_cidr': required(CIDR),
  'properties.user_identifiers': required(ARRAY),
  'properties.user_identifiers.0': [
    ...ok({}, { a: [null] }),
    ...onlyReceived('expected an object, found a string', 'jane'),
    ...no('expected an object, found null', null),
    ...no('expected an object, found an array', []),
  ],
  playbook: required(OBJECT),
  'playbook.name': required(TEXT),
  'playbook.id': required(TEXT),
};

/** D30 */
const TEST_COMMON: Rows = {
  application_name: required(TEXT),
  environment: required(TEXT),
  event_category: openWords(['test']),
  event_kind: openWords(['test_kind']),
  date_occurred: required(TIMESTAMP),
  humanized_description: required(TEXT),
  ...IPS,
};

const EVERY_MESSAGE = namesOf(MESSAGES);
const INCIDENTS: readonly SampleName[] = [
  'account_takeover',
  'vulnerable_packages',
  'http_scan',
  'user_risk_increased',
  'injection_sql',
];

/** D20, D22 to D24 */
const ENVELOPE: Rows = {
  api_version: required(closedWord(['2'], 2, '1', '2.0')),
  date_created: required(TIMESTAMP),
  retry_count: required(COUNT),
};

/** D21: `null` is what real senders write (W). */
const MESSAGE_ID: Rows = {
  message_id: [
    ...NON_EMPTY.given,
    ...no('expected a string, found a number', 5),
    ...no('expected a string, found an array', ['x']),
    ...no('expected a string, found nothing', undefined),
    ...onlyReceived('expected a string, found null', null),
  ],
};

/** D81 */
const RISK_COEFFICIENT: Rows = { risk_coefficient: optional(integerBetween(0, 100)) };

const VERSION_2: FieldRow[] = [
  ...table(EVERY_MESSAGE, '', {
    '': NO_OBJECT,
    ...ENVELOPE,
    ...MESSAGE_ID,
    message: required(OBJECT),
  }),
  ...table(['security_event'], 'message.', { ...EVENT, ...RISK_COEFFICIENT }),
  ...table(['security_response'], 'message.', RESPONSE),
  ...table(['test'], 'message.', {
    ...TEST_COMMON,
    application_id: optionalReceived(TEXT),
    id: required(TEXT),
    url: required(TEXT),
    ...RISK_COEFFICIENT,
  }),
  ...table(INCIDENTS, 'message.', INCIDENT),
  ...table(['account_takeover'], 'message.', ACCOUNTS),
];

const ACCOUNT_VALUE = 'expected a string, a number, a boolean or null';

/** D41, D42 */
const EVENT_EXTRAS: Rows = {
  risk: optional(INTEGER),
  application_account_account_id: optional(TEXT),
  application_account_account_keys: optional(ARRAY),
  'application_account_account_keys.0': no('expected an object, found null', null),
  'application_account_account_keys.0.name': required(TEXT),
  'application_account_account_keys.0.value': [
    ...ok('x', '', 5, false, null),
    ...no(`${ACCOUNT_VALUE}, found nothing`, undefined),
    ...no(`${ACCOUNT_VALUE}, found an object`, {}),
    ...no(`${ACCOUNT_VALUE}, found an array`, []),
  ],
  application_account_url: optional(TEXT),
  id: optional(TEXT),
  url: optional(TEXT),
};

/** D43 */
const PULSE: Rows = {
  pulse_genre: required(word(WORDS.pulseGenres, 'injection_xxe', 'HTTP_SCAN')),
  pulse_category: nullable(TEXT),
  date_started: required(TIMESTAMP),
  date_ended: nullable(TIMESTAMP),
  humanized_title: required(TEXT),
  humanized_accounts: nullable(TEXT),
  humanized_geos: nullable(TEXT),
  blocked: required(FLAG),
  application_id: required(TEXT),
  application_name: required(TEXT),
  environment: required(TEXT),
  id: required(TEXT),
  url: required(TEXT),
  incidents_count: required(INTEGER),
  user_agents_count: required(INTEGER),
  ip_addresses_count: required(INTEGER),
  accounts_count: required(INTEGER),
};

const VERSION_1: FieldRow[] = [
  ...table(namesOf(ELEMENTS), '', {
    '': NO_OBJECT,
    svc_payload_type: required(closedWord(WORDS.svcPayloadTypes, 'incident')).filter(
      ({ value }) => !WORDS.svcPayloadTypes.includes(value as string),
    ),
  }),
  ...table(['security_event (v1)'], '', {
    ...EVENT,
    ...EVENT_EXTRAS,
    // D41: its sample has `id` and `url`.
    application_id: optionalReceived(TEXT),
    event_id: optionalReceived(TEXT),
    event_url: optionalReceived(URL_TEXT),
  }),
  ...table(['pulse'], '', PULSE),
  ...table(['security_response (v1)'], '', {
    id: nullable(TEXT),
    date_created: required(TIMESTAMP),
    ...RESPONSE,
  }),
  ...table(['test (v1)'], '', { ...TEST_COMMON, ...EVENT_EXTRAS, application_id: optional(TEXT) }),
];

const optionally = (rows: Rows): Rows =>
  Object.fromEntries(
    Object.entries(rows).map(([field, given]) => [
      field,
      given.flatMap((row) =>
        row.value === undefined || typeof row.value === 'symbol' ? ok(row.value) : row,
      ),
    ]),
  );

const EVERY_DRAFT = namesOf(DRAFTS);
const INCIDENT_DRAFTS: readonly SampleName[] = [
  'incident to send',
  'takeover to send',
  'injection to send',
];

/** D20, D43: what a caller gives; the senders have the emitted reading only. */
const TO_SEND: FieldRow[] = [
  ...table(EVERY_DRAFT, '', {
    '': NO_OBJECT,
    message_id: optional(NON_EMPTY),
    message: required(OBJECT),
  }),
  ...table(['event to send'], 'message.', EVENT),
  ...table(['response to send'], 'message.', RESPONSE),
  ...table(['takeover to send'], 'message.', { ...INCIDENT, ...ACCOUNTS }),
  ...table(['incident to send', 'injection to send'], 'message.', INCIDENT),
  ...table(INCIDENT_DRAFTS, '', { v1: [...optional(OBJECT), ...ok({})] }),
  ...table(INCIDENT_DRAFTS, 'v1.', optionally(PULSE)),
];

export const WEBHOOK_FIELDS: readonly FieldRow[] = [...VERSION_2, ...VERSION_1, ...TO_SEND];
