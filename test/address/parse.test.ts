import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAddress } from '../../src/address/parse.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const bytesOf = (text: string): number[] | undefined => parseAddress(text)?.toByteArray();

/** Returns the bytes as the platform's URL parser reads them. It never prints dotted ends. */
function bytesByUrlParser(ipv6: string): number[] {
  const [front = '', back] = new URL(`http://[${ipv6}]`).hostname.slice(1, -1).split('::');
  const [head, tail] = [groups(front), groups(back ?? '')];
  const words = [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
  return words.flatMap((word) => [word >> 8, word & 0xff]);
}

describe('parseAddress', () => {
  test.each([
    ['octal', '0177.0.0.1'],
    ['one decimal number', '2130706433'],
    ['one hexadecimal number', '0x7f000001'],
    ['short', '127.1'],
    ['an octal end', '::ffff:0177.0.0.1'],
    ['an empty zone', 'fe80::1%'],
    ['brackets', '[::1]'],
  ])('does not read an address with %s', (_what, text) => {
    expect(parseAddress(text)).toBeUndefined();
  });

  test('reads IPv4', () => {
    expect(bytesOf('203.0.113.9')).toEqual([203, 0, 113, 9]);
  });

  test('ignores the zone of IPv6', () => {
    expect(parseAddress('fe80::1%eth0')?.toString()).toBe('fe80::1');
    expect(bytesOf('2001:db8::192.0.2.1%en0.1')).toEqual(bytesOf('2001:db8::192.0.2.1'));
  });

  test('does not take an IPv4-compatible address for an IPv4-mapped one', () => {
    const zeros = Array<number>(12).fill(0);
    expect(bytesOf('::192.0.2.1')).toEqual([...zeros, 192, 0, 2, 1]);
    expect(bytesOf('::0.0.0.1')).toEqual(bytesOf('::1'));
    expect(bytesOf('::ffff:192.0.2.1')).toEqual([...zeros.slice(2), 255, 255, 192, 0, 2, 1]);
  });

  test('agrees with net.isIP for any text', () => {
    const almost = fc
      .array(fc.constantFrom('0', '1', '9', 'f', 'A', ':', '::', '.', '255', '%', 'x', '-'), {
        maxLength: 14,
      })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        fc.oneof(almost, fc.ipV4(), fc.ipV4Extended(), fc.ipV6(), fc.string()),
        (text) => {
          expect(parseAddress(text) !== undefined).toBe(isIP(text) !== 0);
        },
      ),
      { numRuns: quickOrNightly(500, 2000) },
    );
  });

  test('reads the same bytes as the URL parser for any IPv6 spelling', () => {
    const group = fc.oneof(fc.constant('0'), fc.integer({ min: 0, max: 0xffff }).map(hex));
    const full = fc.array(group, { minLength: 8, maxLength: 8 }).map((parts) => parts.join(':'));
    const gapped = fc
      .tuple(fc.array(group, { maxLength: 3 }), fc.array(group, { maxLength: 3 }))
      .map(([head, tail]) => `${head.join(':')}::${tail.join(':')}`);
    const dotted = fc
      .tuple(fc.array(group, { maxLength: 4 }), fc.ipV4())
      .map(([head, tail]) => `::${[...head, tail].join(':')}`);
    fc.assert(
      fc.property(fc.oneof(full, gapped, dotted, fc.ipV6()), (text) => {
        expect(bytesOf(text)).toEqual(bytesByUrlParser(text));
      }),
      { numRuns: quickOrNightly(300, 1000) },
    );
  });
});

function groups(part: string): number[] {
  return part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
}

function hex(value: number): string {
  return value.toString(16);
}
