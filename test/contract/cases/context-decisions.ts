import { byDialect, type Change, type Refusal } from './case.ts';
import { type Decision, fails, fits, missing } from './decision.ts';
import { oneOf, WORDS } from './words.ts';

const GEO = { city: 'Lyon', country_code: 'FRA', latitude: 45, longitude: 4 };
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

const halfRequest = (has: string | undefined): Change['verdicts'] => {
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
    title: 'D4 refuses a half-filled request',
    cases: [
      { host: 'x' },
      { path: 'x' },
      { user_agent: 'x' },
      { port: 80 },
      { remote_port: 80 },
      { referer: null },
      { parameters: {} },
    ].map(
      (request): Change => ({
        on: 'login',
        set: { 'context.http.request': request },
        verdicts: halfRequest(Object.keys(request)[0]),
      }),
    ),
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
];
