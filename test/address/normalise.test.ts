import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normaliseAddress } from '../../src/address/normalise.ts';

describe('normaliseAddress', () => {
  test.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::FFFF:cb00:7109', '203.0.113.9'],
    ['0:0:0:0:0:ffff:203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9%eth0', '203.0.113.9'],
    ['::1', '127.0.0.1'],
    ['0:0:0:0:0:0:0:1', '127.0.0.1'],
    ['::0.0.0.1', '127.0.0.1'],
    ['::1%lo', '127.0.0.1'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['::', '::'],
    ['::2', '::2'],
    ['::203.0.113.9', '::cb00:7109'],
    ['2001:0DB8::00a0:000B', '2001:db8::a0:b'],
    ['fe80::1%eth0', 'fe80::1'],
    // RFC 5952 4.2: a single zero group stays, the longest gap counts, the first of equals.
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
  ])('writes %s as %s', (text, expected) => {
    expect(normaliseAddress(text)).toBe(expected);
  });

  test.each(['', 'unknown', '127.1', '0177.0.0.1', '[::1]', '203.0.113.9:80', '1::2::3'])(
    'does not make an address of %j',
    (text) => {
      expect(normaliseAddress(text)).toBeUndefined();
    },
  );

  test('spells IPv6 by RFC 5952, except addresses with an IPv4 form', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const byUrlParser = new URL(`http://[${text}]`).hostname.slice(1, -1);
        fc.pre(!byUrlParser.startsWith('::ffff:') && byUrlParser !== '::1');
        expect(normaliseAddress(text)).toBe(byUrlParser);
      }),
      { numRuns: 500 },
    );
  });

  test('does not change its own output', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const once = normaliseAddress(text);
        expect(once).toBeDefined();
        expect(normaliseAddress(once ?? '')).toBe(once);
      }),
    );
  });
});
