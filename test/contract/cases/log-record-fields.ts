/** Section A of the contract, row by row. */
import { namesOf, RECORDS, type SampleName } from '../samples.ts';
import {
  ABSENT,
  byDialect,
  everywhere,
  type Field,
  type FieldRow,
  NO_OBJECT,
  no,
  nullable,
  ok,
  onlyOpen,
  onlyReceived,
  optional,
  required,
  table,
} from './case.ts';
import {
  ADDRESS_FACTS,
  closedWord,
  degrees,
  FLAG,
  FREE_OBJECT,
  FREE_OBJECT_OR_ARRAY,
  integerBetween,
  NON_EMPTY,
  OBJECT,
  TEXT,
  textLike,
  word,
} from './fields.ts';
import { CHANNEL_A_ADDRESS, COUNTRY, SEMVER, TIMESTAMP } from './formats.ts';
import { ATTRIBUTES } from './log-line-fields.ts';
import { oneOf, WORDS } from './words.ts';

const EVERY_RECORD: readonly SampleName[] = [...namesOf(RECORDS), 'line'];
const SCALAR = 'expected a string, a number or a boolean';
const SLUG = 'a slug (lowercase words joined by underscores or dots)';

const ENVELOPE = [
  ...table(EVERY_RECORD, '', {
    '': NO_OBJECT,
    context: required(OBJECT),
    event_version: required(SEMVER),
    payload: required(OBJECT),
  }),
  ...table(EVERY_RECORD, '', {
    event_name: [
      ...no(`${oneOf(WORDS.eventNames)}, found "svc.ev0.threats.attack"`, 'svc.ev0.threats.attack'),
      ...no(`${oneOf(WORDS.eventNames)}, found "svc.ev0.threat"`, 'svc.ev0.threat'),
      ...no(`${oneOf(WORDS.eventNames)}, found an empty string`, ''),
      ...no(`${oneOf(WORDS.eventNames)}, found 5`, 5),
      ...no(`${oneOf(WORDS.eventNames)}, found null`, null),
      ...no(`${oneOf(WORDS.eventNames)}, found nothing`, undefined),
      ...no(`${oneOf(WORDS.eventNames)}, found an array`, ['svc.ev0.threat.attack']),
    ],
  }),
  ...table(
    EVERY_RECORD.filter((name) => name !== 'incident'),
    '',
    { detected_at: required(TIMESTAMP) },
  ),
  ...table(['incident'], '', { detected_at: nullable(TIMESTAMP) }),
];

const ACTOR = [
  // D4
  ...table(EVERY_RECORD, 'context.', {
    actor: optional(OBJECT),
    http: optional(OBJECT),
    service: required(OBJECT),
  }),
  ...table(EVERY_RECORD, 'context.service.', {
    env: required(TEXT),
    name: required(TEXT),
    svc_id: required(TEXT),
  }),
  ...table(EVERY_RECORD, 'context.actor.', {
    // D10
    identifiers: [
      ...nullable({ ...FREE_OBJECT, given: ok({}, { a: 'x', b: 0.5, c: false }) }),
      ...onlyReceived(
        { at: 'context.actor.identifiers.a', says: `${SCALAR}, found null` },
        { a: null },
      ),
      ...onlyReceived(
        { at: 'context.actor.identifiers.b', says: `${SCALAR}, found an object` },
        { a: 'x', b: { c: 1 } },
      ),
      ...onlyReceived(
        { at: 'context.actor.identifiers.a', says: `${SCALAR}, found an array` },
        { a: ['x'] },
      ),
    ],
    ip: required(ADDRESS_FACTS),
    // D11
    svc_identifier: [
      ...nullable(textLike('padded base64', ok('', 'QQ==', 'QUI=', 'QUJD', 'QUJDRA==', '+/+/'))),
      ...onlyReceived(
        'expected null or padded base64, found a string',
        'QQ',
        'QQ=',
        'Q===',
        'QUJ',
        'QUJ=D',
        'Q-_=',
        'QU I=',
        'QUJD\n',
      ),
    ],
  }),
  ...table(EVERY_RECORD, 'context.actor.ip.', {
    address: required(CHANNEL_A_ADDRESS),
    geo: [...required(OBJECT), ...ok({})],
    metadata: required(OBJECT),
  }),
  ...table(EVERY_RECORD, 'context.actor.ip.geo.', {
    city: required(TEXT),
    country_code: required(COUNTRY),
    latitude: required(degrees(90)),
    longitude: required(degrees(180)),
  }),
  ...table(EVERY_RECORD, 'context.actor.ip.metadata.', {
    // D13, and `version` below
    datacenter: nullable(OBJECT),
    global: required(FLAG),
    loopback: required(FLAG),
    multicast: required(FLAG),
    network_type: required(TEXT),
    private: required(FLAG),
    proxy: required(FLAG),
    reserved: required(FLAG),
    tor: required(FLAG),
    unspecified: required(FLAG),
    version: required(closedWord([4, 6], 0, 5, 7, '4')),
    vpn: required(FLAG),
    'datacenter.name': required(TEXT),
    'datacenter.url': required(TEXT),
  }),
];

/** D7 */
const PORT = integerBetween(1, 65_535);
const DIGITS = 'a port, 1 to 65535, in digits';

/** D0: `parameters.json` may be an array in the open dialect. */
const OBJECT_OR_OPEN_ARRAY: Field = {
  given: FREE_OBJECT.given,
  wrongKinds: ['a string', 'a number', 'a boolean'],
  wrong: (kind) =>
    byDialect(`expected an object, found ${kind}`, `expected an array or an object, found ${kind}`),
};

const HTTP = [
  ...table(EVERY_RECORD, 'context.http.', {
    request: [...required(OBJECT), ...ok({})],
    response: required(OBJECT),
  }),
  ...table(EVERY_RECORD, 'context.http.request.', {
    host: required(TEXT),
    path: required(TEXT),
    port: required(PORT),
    remote_ip: required(CHANNEL_A_ADDRESS),
    remote_port: [
      ...required({ ...textLike(DIGITS, []), wrongKinds: ['a boolean', 'an object', 'an array'] }),
      // D6: a number, of the same range, comes out as digits.
      ...PORT.given
        .filter(({ value }) => typeof value === 'number')
        .map((given) => ({ ...given, becomes: String(given.value) })),
      ...ok('1', '9', '10', '9999', '10000', '59999', '64999', '65499', '65529', '65535'),
      ...onlyReceived(
        `expected ${DIGITS}, found a string`,
        '0',
        '01',
        '-1',
        '65536',
        '65540',
        '65600',
        '66000',
        '70000',
        '100000',
        '80 ',
        '80\n',
        '8e3',
        'https',
      ),
      ...onlyReceived(`expected ${DIGITS}, found an empty string`, ''),
    ],
    // D8
    scheme: required(word(WORDS.schemes, 'ws', 'HTTP')),
    user_agent: required(TEXT),
    verb: required(word(WORDS.verbs, 'HEAD', 'get', 'TRACE')),
    // D5
    referer: [
      ...ok(null),
      ...[ABSENT, undefined].map((value) => ({ value, verdicts: everywhere(true), becomes: null })),
      ...no('expected null, found an empty string', ''),
      ...no('expected null, found a string', 'https://shop.example/'),
      ...no('expected null, found a boolean', false),
      ...no('expected null, found an object', {}),
    ],
    parameters: [...optional(OBJECT), ...ok({})],
  }),
  // D9
  ...table(EVERY_RECORD, 'context.http.request.parameters.', {
    form: optional(FREE_OBJECT_OR_ARRAY),
    json: [
      ...optional(OBJECT_OR_OPEN_ARRAY),
      ...onlyOpen('expected an object, found an array', [], [{ a: 1 }]),
    ],
    other: optional(FREE_OBJECT),
    query: optional(FREE_OBJECT),
  }),
  ...table(EVERY_RECORD, 'context.http.response.', {
    blocked: required(FLAG),
    status: optional(integerBetween(100, 599)),
  }),
];

const PAYLOADS = [
  ...table(['attack'], 'payload.', {
    ruleset: required(word(WORDS.rulesets, 'shellshock', 'SQL_INJECTION')),
  }),
  ...table(['exploit'], 'payload.', { protection: required(TEXT) }),
  ...table(['incident'], 'payload.', {
    event_type: required(closedWord(WORDS.incidentEventTypes, 'created', 'delete')),
    incident_id: required(TEXT),
    incident_type: required(word(WORDS.incidentTypes, 'account_takeover')),
    name: required(TEXT),
    severity: required(word(WORDS.severities, 'info')),
  }),
  ...table(['playbook trigger'], 'payload.', {
    name: required(TEXT),
    // D16
    playbook_slug: [
      ...required(
        textLike(SLUG, ok('a', 'block_ips_v2.1_account_takeover', 'é.1', '阻止_ip', '٣')),
      ),
      ...onlyReceived(
        `expected ${SLUG}, found a string`,
        'Block',
        '_a',
        'a_',
        'a__b',
        'a._b',
        '.a',
        'a.',
        'a b',
        'a-b',
        'a\n',
      ),
      ...onlyReceived(`expected ${SLUG}, found an empty string`, ''),
    ],
  }),
  ...table(['login', 'signup'], 'payload.', { success: required(FLAG) }),
  ...table(['custom event'], 'payload.', {
    event_name: [
      ...NON_EMPTY.given,
      ...no('expected a string, found null', null),
      ...no('expected a string, found a number', 5),
      // D15: absent, the name is the other key's.
      ...[ABSENT, undefined].map((value) => ({
        value,
        verdicts: everywhere(true),
        becomes: 'checkout',
      })),
    ],
    options: required(FREE_OBJECT),
    sdk_event_name: optional(TEXT),
  }),
];

export const LOG_RECORD_FIELDS: readonly FieldRow[] = [
  ...ENVELOPE,
  ...ACTOR,
  ...HTTP,
  ...PAYLOADS,
  ...ATTRIBUTES,
];
