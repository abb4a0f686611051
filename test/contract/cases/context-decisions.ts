/** D4-D14: the context of a record. */
import { namesOf, RECORDS } from '../samples.ts';
import { ABSENT, byDialect, type Change, type Refusal } from './case.ts';
import { type Decision, fails, failsEmitted, fits, missing } from './decision.ts';
import { foundWord, oneOf, WORDS } from './words.ts';

const GEO = {
  city: 'Lyon',
  country_code: 'FRA',
  latitude: 45,
  longitude: 4,
};
const GEO_KINDS = {
  city: 'a string',
  country_code: 'a string',
  latitude: 'a number',
  longitude: 'a number',
};

const halfFilled = (
  path: string,
  kinds: Readonly<Record<string, string>>,
  has: string,
): Refusal[] =>
  Object.entries(kinds)
    .filter(([key]) => key !== has)
    .map(([key, kind]) => missing(`${path}.${key}`, kind));

const REQUEST_KINDS = {
  host: 'a string',
  path: 'a string',
  port: 'a number',
  remote_port: 'a string',
  user_agent: 'a string',
};

const halfRequest = (has: string): Change['verdicts'] => {
  const rest = Object.entries(REQUEST_KINDS)
    .filter(([key]) => key !== has)
    .map(([key, kind]) => ({ key, says: `expected ${kind}, found nothing` }));
  const words = (strict: boolean): Refusal[] =>
    [
      ...rest,
      { key: 'remote_ip', says: `expected an ${strict ? 'IPv4' : 'IP'} address, found nothing` },
      {
        key: 'scheme',
        says: strict
          ? `${oneOf(WORDS.schemes)}, found nothing`
          : 'expected a string, found nothing',
      },
      {
        key: 'verb',
        says: strict ? `${oneOf(WORDS.verbs)}, found nothing` : 'expected a string, found nothing',
      },
    ]
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ key, says }) => ({ at: `context.http.request.${key}`, says }));
  return byDialect(words(true), words(false));
};

export const CONTEXT_DECISIONS: readonly Decision[] = [
  {
    title: 'D4 takes a record without actor and http, and a request without any key',
    cases: namesOf(RECORDS).flatMap((name) => [
      fits(name, { 'context.actor': ABSENT, 'context.http': ABSENT }),
      fits(name, { 'context.http.request': {} }),
      fits(name, { 'context.http.response': { blocked: false } }),
    ]),
  },
  {
    title: 'D4 refuses a half-filled request and an http without request or response',
    cases: [
      ...['host', 'path', 'user_agent'].map(
        (has): Change => ({
          on: 'login',
          set: { 'context.http.request': { [has]: 'x' } },
          verdicts: halfRequest(has),
        }),
      ),
      { on: 'login', set: { 'context.http.request': { port: 80 } }, verdicts: halfRequest('port') },
      {
        on: 'login',
        set: { 'context.http.request': { referer: null } },
        verdicts: halfRequest(''),
      },
      {
        on: 'login',
        set: { 'context.http.request': { parameters: {} } },
        verdicts: halfRequest(''),
      },
      {
        on: 'login',
        set: { 'context.http.request': { remote_port: 80 } },
        verdicts: halfRequest('remote_port'),
      },
      fails(
        'login',
        { 'context.http.request': ABSENT },
        missing('context.http.request', 'an object'),
      ),
      fails(
        'login',
        { 'context.http.response': ABSENT },
        missing('context.http.response', 'an object'),
      ),
    ],
  },
  {
    title: 'D5 writes null for a referer that is absent, and refuses any other',
    cases: [
      fits(
        'attack',
        { 'context.http.request.referer': ABSENT },
        { 'context.http.request.referer': null },
      ),
      fails(
        'attack',
        { 'context.http.request.referer': 'https://a.example' },
        { at: 'context.http.request.referer', says: 'expected null, found a string' },
      ),
    ],
  },
  {
    title: 'D6 writes a numeric remote_port as digits',
    cases: [
      fits(
        'attack',
        { 'context.http.request.remote_port': 8080 },
        { 'context.http.request.remote_port': '8080' },
      ),
    ],
  },
  {
    title: 'D7 keeps ports in range when emitted, in either form',
    cases: [
      failsEmitted(
        'attack',
        { 'context.http.request.port': 0, 'context.http.request.remote_port': '0' },
        { at: 'context.http.request.port', says: 'expected at least 1, found 0' },
        {
          at: 'context.http.request.remote_port',
          says: 'expected a port, 1 to 65535, in digits, found a string',
        },
      ),
      {
        ...failsEmitted(
          'attack',
          { 'context.http.request.remote_port': 65_536 },
          { at: 'context.http.request.remote_port', says: 'expected at most 65535, found 65536' },
        ),
        becomes: { 'context.http.request.remote_port': '65536' },
      },
    ],
  },
  {
    title: 'D8 takes HEAD, lower case and ws in the open dialect alone',
    cases: [
      ['verb', 'HEAD', WORDS.verbs],
      ['verb', 'get', WORDS.verbs],
      ['scheme', 'ws', WORDS.schemes],
    ].map(
      ([key, value, list]): Change => ({
        on: 'attack',
        set: { [`context.http.request.${String(key)}`]: value },
        verdicts: byDialect(
          [
            {
              at: `context.http.request.${String(key)}`,
              says: `${oneOf(list as readonly string[])}, ${foundWord(String(value))}`,
            },
          ],
          true,
        ),
      }),
    ),
  },
  {
    title: 'D9 takes each of the parameters alone, and form as an array',
    cases: [
      {},
      { form: [] },
      { form: { a: [1] } },
      { json: { a: 1 } },
      { other: {} },
      { query: { a: null } },
    ].map((parameters) => fits('attack', { 'context.http.request.parameters': parameters })),
  },
  {
    title: 'D10 takes null for an unknown user, and only scalars when emitted',
    cases: [
      fits('login', { 'context.actor.identifiers': null }),
      failsEmitted(
        'login',
        { 'context.actor.identifiers': { a: [1], b: 'x', c: { d: 1 } } },
        {
          at: 'context.actor.identifiers.a',
          says: 'expected a string, a number or a boolean, found an array',
        },
        {
          at: 'context.actor.identifiers.c',
          says: 'expected a string, a number or a boolean, found an object',
        },
      ),
    ],
  },
  {
    title: 'D11 takes null and, when emitted, padded standard base64 for svc_identifier',
    cases: [
      fits('login', { 'context.actor.svc_identifier': null }),
      failsEmitted(
        'login',
        { 'context.actor.svc_identifier': 'dS0x-_' },
        { at: 'context.actor.svc_identifier', says: 'expected padded base64, found a string' },
      ),
    ],
  },
  {
    title: 'D12 refuses a half-filled geo, and takes an empty one',
    cases: [
      fits('login', { 'context.actor.ip.geo': {} }),
      fits('login', { 'context.actor.ip.geo': { city: undefined, latitude: undefined } }),
      ...Object.entries(GEO).map(([key, value]) =>
        fails(
          'login',
          { 'context.actor.ip.geo': { [key]: value } },
          ...halfFilled('context.actor.ip.geo', GEO_KINDS, key),
        ),
      ),
    ],
  },
  {
    title: 'D13 takes null or both keys for datacenter, and version 4 or 6',
    cases: [
      fits('login', { 'context.actor.ip.metadata.datacenter': null }),
      fits('login', { 'context.actor.ip.metadata.version': 6 }),
      fails(
        'login',
        { 'context.actor.ip.metadata.datacenter': {} },
        missing('context.actor.ip.metadata.datacenter.name', 'a string'),
        missing('context.actor.ip.metadata.datacenter.url', 'a string'),
      ),
    ],
  },
  {
    title: 'D14 takes IPv6 clients in the open dialect alone, an IPv4-mapped address too',
    cases: ['2001:db8::1', '::1', '::ffff:203.0.113.9'].map(
      (address): Change => ({
        on: 'attack',
        set: { 'context.actor.ip.address': address, 'context.http.request.remote_ip': address },
        verdicts: byDialect(
          ['context.actor.ip.address', 'context.http.request.remote_ip'].map((at) => ({
            at,
            says: 'expected an IPv4 address, found a string',
          })),
          true,
        ),
      }),
    ),
  },
];
