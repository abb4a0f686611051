import fc from 'fast-check';
import { compile } from 'proxy-addr';
import { describe, expect, test } from 'vitest';
import { normaliseAddress } from '../../../src/address/normalise.ts';
import { compileTrust } from '../../../src/capture/client-address/trusted-proxies.ts';

const trusts = (given: unknown, address: string | undefined, hop = 0): boolean =>
  compileTrust(given)(address, hop);

describe('trusted ranges', () => {
  test.each<[given: unknown, address: string, expected: boolean]>([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.1.2.3', '10.1.2.3', true],
    ['2001:DB8::/32', '2001:db8:1::7', true],
    [['10.1.2.3', '192.0.2.0/24'], '192.0.2.200', true],
    ['10.1.2.3, 192.0.2.0/24', '192.0.2.200', true],
    [['loopback, 10.1.2.3', '192.0.2.0/24'], '10.1.2.3', true],
    [[], '127.0.0.1', false],
    ['loopback', '127.255.0.1', true],
    ['loopback', '128.0.0.1', false],
    ['linklocal', '169.254.7.7', true],
    ['linklocal', 'fe80::1', true],
    ['uniquelocal', '10.0.0.1', true],
    ['uniquelocal', '172.31.0.1', true],
    ['uniquelocal', '172.32.0.1', false],
    ['uniquelocal', 'fd00::1', true],
    ['uniquelocal', '100.64.1.1', false],
    // Written mapped, an IPv4 range covers the addresses that are reported as IPv4.
    ['::ffff:10.0.0.0/104', '10.9.9.9', true],
    ['::ffff:10.0.0.0/104', '11.0.0.1', false],
    // CVE-2026-90711: neither family spills into the other.
    [['::/1', '::2'], '10.0.0.1', false],
    // D14: the peer ::1 is reported as 127.0.0.1.
    ['::1', '127.0.0.1', true],
    ['::/8', '127.0.0.1', true],
    ['::1', '127.0.0.2', false],
    ['::2', '127.0.0.1', false],
  ])('%j: %s is trusted: %j', (given, address, expected) => {
    expect(trusts(given, address)).toBe(expected);
  });

  test('do not change with the list', () => {
    const list = ['10.0.0.0/8'];
    const isTrusted = compileTrust(list);
    list[0] = '192.0.2.0/24';
    expect([isTrusted('10.0.0.1', 0), isTrusted('192.0.2.1', 0)]).toEqual([true, false]);
  });
});

describe('a number of trusted proxies', () => {
  test.each([
    [0, 0, false],
    [1, 0, true],
    [1, 1, false],
    [64, 63, true],
    [64, 64, false],
  ])('%i: hop %i is trusted: %j', (count, hop, expected) => {
    expect(trusts(count, '203.0.113.9', hop)).toBe(expected);
  });
});

describe('a function that trusts', () => {
  test.each<[string, () => unknown]>([
    ['returns false', () => false],
    ['returns a promise', () => Promise.resolve(true)],
    ['returns 1', () => 1],
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
  ])('trusts no hop if it %s', (_, isTrusted) => {
    expect(trusts(isTrusted, '10.0.0.1')).toBe(false);
  });
});

describe('an unusable option', () => {
  const ENTRY = 'an address, a CIDR, loopback, linklocal or uniquelocal';
  const PREFIX = 'networks with a prefix of at least 1';
  const COUNT = 'an integer from 0 to 64';
  const KIND = 'addresses, CIDRs, range names, a number or a function';

  test.each<[given: unknown, path: readonly PropertyKey[], detail: string]>([
    ['', ['trustedProxies'], ENTRY],
    ['10.0.0.0/8,', ['trustedProxies'], ENTRY],
    ['010.0.0.0/8', ['trustedProxies'], ENTRY],
    ['10.0.0.0/', ['trustedProxies'], ENTRY],
    ['fe80::1%eth0', ['trustedProxies'], ENTRY],
    ['0.0.0.0/0', ['trustedProxies'], PREFIX],
    ['10.0.0.0/33', ['trustedProxies'], ENTRY],
    ['::/0', ['trustedProxies'], PREFIX],
    ['::ffff:0:0/96', ['trustedProxies'], PREFIX],
    [['loopback', 'none'], ['trustedProxies', 1], ENTRY],
    [['loopback', 7], ['trustedProxies', 1], 'a string'],
    [-1, ['trustedProxies'], COUNT],
    [65, ['trustedProxies'], COUNT],
    [1.5, ['trustedProxies'], COUNT],
    [{}, ['trustedProxies'], KIND],
  ])('%j is refused with its path', (given, path, detail) => {
    expect(() => compileTrust(given)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path,
        message: expect.stringContaining(`: expected ${path.join('.')} to be ${detail}. `),
      }),
    );
  });
});

const anyIpv4 = fc.ipV4();
/** Not with a dotted end: proxy-addr takes `::192.0.2.1` for a mapped address. */
const anyIpv6 = fc.ipV6().filter((text) => !text.includes('.'));
const rangesOf = (addresses: fc.Arbitrary<string>, bits: number) =>
  fc.array(
    fc.tuple(addresses, fc.integer({ min: 1, max: bits })).map((part) => part.join('/')),
    { minLength: 1, maxLength: 5 },
  );

test.each([
  ['IPv4', rangesOf(anyIpv4, 32), anyIpv4],
  ['IPv6', rangesOf(anyIpv6, 128), anyIpv6],
] as const)(
  'ranges of %s contain the same addresses as in proxy-addr',
  (_family, anyRanges, anyAddress) => {
    fc.assert(
      fc.property(anyRanges, anyAddress, fc.nat({ max: 4 }), (ranges, other, index) => {
        const isTrusted = compileTrust(ranges);
        const expected = compile(ranges);
        // Beside a random one, an address that is likely to be in a range.
        const inRange = ranges[index % ranges.length]?.split('/')[0] ?? '';
        for (const text of [other, inRange]) {
          const address = normaliseAddress(text) ?? '';
          // What D14 spells as IPv4 is in another family.
          if (address.includes(':') !== text.includes(':')) continue;
          expect(isTrusted(address, 0)).toBe(expected(text, 0));
        }
      }),
      { seed: 7 },
    );
  },
);
