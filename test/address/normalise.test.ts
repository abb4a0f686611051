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
    ['::203.0.113.9', '::cb00:7109'],
    ['2001:0DB8::00a0:000B', '2001:db8::a0:b'],
    // RFC 5952 4.2: a single zero group stays, the longest gap counts, the first of equals.
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ])('writes %s as %s', (text, expected) => {
    expect(normaliseAddress(text)).toBe(expected);
  });

  test('returns undefined for a text that is not an address', () => {
    expect(normaliseAddress('127.1')).toBeUndefined();
  });

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
});
