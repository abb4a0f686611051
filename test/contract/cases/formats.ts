/** The formats of texts: dates, versions, addresses, URLs, country codes. */
import { byDialect, everywhere, type Field, no, ok, onlyOpen, onlyReceived } from './case.ts';
import { NOT_TEXT, plain, textLike } from './fields.ts';

const DATE_TIME = 'an ISO 8601 date-time with an offset, such as …+00:00';

/** D2, D23: in every reading of both channels. */
export const TIMESTAMP = plain(DATE_TIME, NOT_TEXT, [
  ...ok(
    '2026-11-21T10:00:00Z',
    '2026-11-21T10:00:00+00:00',
    '2026-11-21T10:00:00.1-11:30',
    '2026-11-21T23:59:59.123456789012+14:00',
    '2024-02-29T00:00:00Z',
    '2000-02-29T00:00:00Z',
    '2026-04-30T00:00:00Z',
    '2026-12-31T00:00:00Z',
  ),
  ...no(
    `expected ${DATE_TIME}, found a string`,
    'yesterday',
    '2026-11-21',
    '2026-11-21T10:00:00',
    '2026-11-21 10:00:00Z',
    '2026-11-21T10:00:00.Z',
    '2026-11-21T10:00:00+24:00',
    '2026-11-21T10:00:00+00:60',
    '2026-11-21T24:00:00Z',
    '2026-11-21T10:60:00Z',
    '2026-11-21T10:00:60Z',
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-06-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-32T00:00:00Z',
    '226-01-01T00:00:00Z',
    ' 2026-11-21T10:00:00Z',
    '2026-11-21T10:00:00Z\n',
  ),
  ...no(
    'expected an ISO 8601 date-time with an offset, such as …+00:00, found an empty string',
    '',
  ),
]);

/** D3 */
export const SEMVER = plain('a SemVer 2.0.0 version', NOT_TEXT, [
  ...ok(
    '1.0.0',
    '0.0.0',
    '10.20.30',
    '1.0.0-alpha.1',
    '10.20.300',
    '1.0.0-100.200',
    '1.0.0-a.10.123',
    '1.0.0-0A.x-y',
    '1.0.0+build.007',
    '1.0.0--+-',
  ),
  ...no(
    'expected a SemVer 2.0.0 version, found a string',
    '1',
    '1.0',
    '1.0.0.0',
    'v1.0.0',
    '01.0.0',
    '1.00.0',
    '1.0.00',
    '1.0.0-',
    '1.0.0-01',
    '1.0.0-a..b',
    '1.0.0+',
    '1.0.0+a_b',
    ' 1.0.0',
    '1.0.0\n',
  ),
  ...no('expected a SemVer 2.0.0 version, found an empty string', ''),
]);

const IPV4 = ['203.0.113.9', '0.0.0.0', '255.255.255.255'];
const IPV6 = ['2001:db8::9', '::', '::1', '::ffff:203.0.113.9', '2001:DB8:0:0:0:0:0:1'];
const NO_IP = [
  '256.0.0.1',
  '203.0.113',
  '203.0.113.9.1',
  '203.0.113.9/32',
  ' 203.0.113.9',
  '203.0.113.9\n',
  '03.0.113.9',
  'shop.example',
  '1:2',
  '::1::',
  'fe80::1%eth0',
  '12345::',
  '[::1]',
  '2001:db8::/32',
];

/** D14: IPv4 in the strict dialect, IPv6 besides in the open one. */
export const CHANNEL_A_ADDRESS: Field = {
  given: [
    ...ok(...IPV4),
    ...onlyOpen('expected an IPv4 address, found a string', ...IPV6),
    ...NO_IP.map((value) => ({
      value,
      verdicts: byDialect(
        'expected an IPv4 address, found a string',
        'expected an IP address, found a string',
      ),
    })),
  ],
  wrongKinds: ['an empty string', ...NOT_TEXT],
  wrong: (kind) =>
    byDialect(`expected an IPv4 address, found ${kind}`, `expected an IP address, found ${kind}`),
};

/** D28: any IP address. */
export const ADDRESS: Field = plain(
  'an IP address',
  ['an empty string', ...NOT_TEXT],
  [...ok(...IPV4, ...IPV6), ...no('expected an IP address, found a string', ...NO_IP)],
);

const NO_CIDR = 'expected a CIDR such as 203.0.113.9/32';

/** D29: a mask is due; received a bare address is legal too (W). */
export const CIDR: Field = {
  given: [
    ...ok(
      '203.0.113.9/32',
      '10.0.0.0/8',
      '0.0.0.0/0',
      '2001:db8::/32',
      '::1/128',
      '::/0',
      '::ffff:203.0.113.0/120',
    ),
    ...onlyReceived(`${NO_CIDR}, found a string`, ...IPV4, ...IPV6),
    ...no(
      `${NO_CIDR}, found a string`,
      '203.0.113.9/33',
      '203.0.113.9/',
      '203.0.113.9/-1',
      '203.0.113/24',
      '::1/129',
      '::1/1.5',
      '::1/064',
      '::1/',
      '/32',
      '203.0.113.9/24/24',
    ),
    ...['shop.example', '203.0.113', '::1::'].map((value) => ({
      value,
      verdicts: {
        ...everywhere(`${NO_CIDR}, found a string`),
        'strict received': 'expected an IP address, found a string',
        'open received': 'expected an IP address, found a string',
      },
    })),
  ],
  wrongKinds: ['an empty string', ...NOT_TEXT],
  wrong: (kind) => ({
    ...everywhere(`${NO_CIDR}, found ${kind}`),
    'strict received': `expected an IP address, found ${kind}`,
    'open received': `expected an IP address, found ${kind}`,
  }),
};

const NO_COUNTRY = 'expected a country code of three capital letters';

/** D12, D28: N */
export const COUNTRY = textLike('a country code of three capital letters', [
  ...ok('FRA', 'USA'),
  ...onlyReceived(`${NO_COUNTRY}, found a string`, 'FR', 'fra', 'FRAN', 'F1A', 'FRA\n', ' FRA'),
  ...onlyReceived(`${NO_COUNTRY}, found an empty string`, ''),
]);

export const URL_TEXT = plain('an absolute URL', NOT_TEXT, [
  ...ok(
    'https://dashboard.example/events/1?x=1#y',
    'urn:uuid:019394ad-0000-7000-8000-000000000001',
    'a+1.-:x',
  ),
  ...no(
    'expected an absolute URL, found a string',
    '/events/1',
    'dashboard.example',
    'https:',
    'https://a b',
    ' https://a',
    'https://a\n',
    '1http://a',
    '://a',
  ),
  ...no('expected an absolute URL, found an empty string', ''),
]);
