import { describe, expect, test } from 'vitest';
import {
  elementFromRight,
  type ForwardedHop,
  forwardedHops,
  readForwardedElement,
} from '../../../src/capture/client-address/forwarded-for.ts';

const hops = (header: string, value: string): ForwardedHop[] => [...forwardedHops(header, value)];
const tokens = (header: string, value: string) => hops(header, value).map(({ token }) => token);

/** What an element is read as: an address, an address with its port, or a refusal. */
type Reading = string | readonly [address: string, port: number];

const hopOf = (token: string, reading: Reading): ForwardedHop => {
  const hop = { token, address: undefined, port: undefined, refusal: undefined };
  if (typeof reading !== 'string') return { ...hop, address: reading[0], port: reading[1] };
  return /^[a-z]+(-[a-z]+)*$/.test(reading)
    ? { ...hop, refusal: reading as 'unknown' }
    : { ...hop, address: reading };
};

/** Nodes as they may stand in either header, there within quotes. */
const NODES: readonly (readonly [string, Reading])[] = [
  ['203.0.113.9', '203.0.113.9'],
  ['203.0.113.9:4711', ['203.0.113.9', 4711]],
  ['203.0.113.9:0', '203.0.113.9'],
  ['203.0.113.9:99999', '203.0.113.9'],
  ['203.0.113.9:_hidden', '203.0.113.9'],
  ['203.0.113.9:', 'not-an-address'],
  ['203.0.113.9:123456', 'not-an-address'],
  ['203.0.113.9:80:80', 'not-an-address'],
  ['2001:DB8::A', '2001:db8::a'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:443', ['2001:db8::1', 443]],
  ['[2001:db8::1]:_hidden', '2001:db8::1'],
  ['[2001:db8::1]443', 'not-an-address'],
  ['[2001:db8::1', 'not-an-address'],
  ['[203.0.113.9]', 'not-an-address'],
  ['fe80::1%eth0', 'fe80::1'],
  ['[fe80::1%eth0]:80', ['fe80::1', 80]],
  ['203.0.113.9%eth0', 'not-an-address'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['[::ffff:203.0.113.9]:80', ['203.0.113.9', 80]],
  ['::1', '127.0.0.1'],
  ['unknown', 'unknown'],
  ['Unknown', 'unknown'],
  ['unknown:4711', 'unknown'],
  ['unknowns', 'not-an-address'],
  ['_hidden', 'obfuscated'],
  ['_SEVKISEK:_port', 'obfuscated'],
  ['0300.0250.1.1', 'not-an-address'],
  ['203.0.113.0/24', 'not-an-address'],
  ['203.0.113.9 203.0.113.10', 'not-an-address'],
  ['\u00a0203.0.113.9', 'not-an-address'],
  ['203.0.113.9\0', 'not-an-address'],
];

describe('forwardedHops', () => {
  test.each(NODES)('reads %j of X-Forwarded-For as %j', (node, reading) => {
    expect(hops('x-forwarded-for', `6.6.6.6, ${node}`)[0]).toEqual(hopOf(node, reading));
  });

  test.each(NODES)('reads %j of Forwarded as %j', (node, reading) => {
    const element = `by=_a;for="${node}";proto=https`;
    expect(hops('forwarded', `for=6.6.6.6, ${element}`)[0]).toEqual(hopOf(element, reading));
  });

  test.each<[string, Reading]>([
    ['FOR=203.0.113.9:80', ['203.0.113.9', 80]],
    ['for="203\\.0.113.9"', '203.0.113.9'],
    ['for=""', 'not-an-address'],
    ['proto=https', 'no-for'],
    ['203.0.113.9', 'malformed'],
  ])('reads the element %j of Forwarded as %j', (element, reading) => {
    expect(hops('forwarded', element)).toEqual([hopOf(element, reading)]);
  });

  test.each<[string, Reading]>([
    ['"203.0.113.9"', '203.0.113.9'],
    ['"[2001:db8::1]:80"', ['2001:db8::1', 80]],
    ['"203.0.113.9', 'not-an-address'],
    ['203.0.113.9"', 'not-an-address'],
    ['""203.0.113.9""', 'not-an-address'],
    ['for=203.0.113.9', 'not-an-address'],
  ])('reads the token %j of any other header as %j', (token, reading) => {
    expect(hops('cf-connecting-ip', token)).toEqual([hopOf(token, reading)]);
  });

  test('yields the nearest hop first, and continues after a refused one', () => {
    expect(hops('x-forwarded-for', '6.6.6.6,, unknown, 10.0.0.1')).toEqual([
      hopOf('10.0.0.1', '10.0.0.1'),
      hopOf('unknown', 'unknown'),
      hopOf('6.6.6.6', '6.6.6.6'),
    ]);
  });

  test.each([
    ['', []],
    [',, ,', []],
    ['a,,b,', ['b', 'a']],
    [' a b ,\tc\t, ', ['c', 'a b']],
    // Neither a no-break space nor a line feed is a blank of HTTP.
    ['\u00a0a,b\n', ['b\n', '\u00a0a']],
    ['"a,b"', ['b"', '"a']],
  ])('reads the elements of the list %j', (value, expected) => {
    expect(tokens('x-forwarded-for', value)).toEqual(expected);
  });

  test.each([
    ['"a,b",c', ['c', '"a,b"']],
    ['"a\\",b",c', ['c', '"a\\",b"']],
    ['"a\\\\","b"', ['"b"', '"a\\\\"']],
    ['b,"a\\"', ['"a\\"', 'b']],
    ['a,\\\\"b,c"', ['\\\\"b,c"', 'a']],
    ['a,"b', ['a,"b']],
    ['\\"a,b', ['b', '\\"a']],
    // A quote that the client left open changes nothing to its right.
    ['for="6.6.6.6, for="[2001:db8::1]", for=b', ['for=b', 'for="[2001:db8::1]"', 'for="6.6.6.6']],
  ])('reads the elements of %j in Forwarded', (value, expected) => {
    expect(tokens('forwarded', value)).toEqual(expected);
  });

  test.each(['x-forwarded-for', 'forwarded'])('says which part of %s was not read', (header) => {
    const longest = 'a'.repeat(1024);
    const refusals = (value: string) => hops(header, value).map(({ refusal }) => refusal);
    const read = header === 'forwarded' ? 'malformed' : 'not-an-address';
    expect(refusals(`${longest},b`)).toEqual([read, read]);
    expect(refusals(`c,${longest}a,b`)).toEqual([read, 'too-long']);
    expect(hops(header, 'a'.repeat(65_536))).toEqual([{ token: '', refusal: 'too-long' }]);
    expect(refusals(Array(64).fill('a').join(','))).toEqual(Array(64).fill(read));
    expect(refusals(Array(65).fill('a').join(','))).toEqual([...Array(64).fill(read), 'too-many']);
    expect(hops(header, ','.repeat(100_000))).toEqual([{ token: '', refusal: 'too-many' }]);
  });
});

test.each([
  ['a, b, c', 0, 'c'],
  ['a, b, c', 2, 'a'],
  ['a, b, c', 3, 'a'],
  ['a,,', 0, 'a'],
  ['', 0, undefined],
  ['x'.repeat(2000), 0, undefined],
  [`${'x'.repeat(2000)},a`, 1, 'a'],
])('%j has at place %i from the right %j', (value, place, expected) => {
  expect(elementFromRight(value, place)).toBe(expected);
});

describe('readForwardedElement', () => {
  test.each<[string, Record<string, string> | undefined]>([
    ['', {}],
    [';;', {}],
    ['FOR=a;Proto=HTTP', { for: 'a', proto: 'HTTP' }],
    ['for=a ; by=b \t', { for: 'a', by: 'b' }],
    ['for="[2001:db8::1]:80";host="a.example"', { for: '[2001:db8::1]:80', host: 'a.example' }],
    ['for=[2001:db8::1]:80', { for: '[2001:db8::1]:80' }],
    ['for="a\\"b\\\\c\\d"', { for: 'a"b\\cd' }],
    ['for="a;b, c"', { for: 'a;b, c' }],
    ['for=""', { for: '' }],
    ['x-ext!=a', { 'x-ext!': 'a' }],
    ['for=', undefined],
    ['for', undefined],
    ['=a', undefined],
    ['for =a', undefined],
    ['for=a b', undefined],
    ['for="a', undefined],
    ['for=a"', undefined],
    ['for="a"b', undefined],
    ['for="a\\"', undefined],
    ['for=a,b', undefined],
    ['for=a;for=b', undefined],
    ['__proto__=a', { ['__proto__']: 'a' }],
  ])('reads %j as %j', (element, expected) => {
    const parameters = readForwardedElement(element);
    expect(parameters && [...parameters]).toEqual(expected && Object.entries(expected));
  });
});
