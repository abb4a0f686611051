import { describe, expect, test } from 'vitest';
import {
  type ForwardedHop,
  forwardedHops,
} from '../../../src/capture/client-address/forwarded-for.ts';

const hops = (header: string, value: string): ForwardedHop[] => [...forwardedHops(header, value)];

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
  ['203.0.113.9:x', 'not-an-address'],
  ['2001:DB8::A', '2001:db8::a'],
  ['2001:db8:0:0:0:0:0:1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:443', ['2001:db8::1', 443]],
  ['[2001:db8::1]:_hidden', '2001:db8::1'],
  ['[2001:db8::1]443', 'not-an-address'],
  ['[2001:db8::1', 'not-an-address'],
  ['2001:db8::1]', 'not-an-address'],
  ['[[2001:db8::1]]', 'not-an-address'],
  ['[203.0.113.9]', 'not-an-address'],
  ['[203.0.113.9]:80', 'not-an-address'],
  ['[]', 'not-an-address'],
  ['fe80::1%eth0', 'fe80::1'],
  ['fe80::1%25eth0', 'fe80::1'],
  ['[fe80::1%eth0]:80', ['fe80::1', 80]],
  ['203.0.113.9%eth0', 'not-an-address'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['::FFFF:cb00:7109', '203.0.113.9'],
  ['[::ffff:203.0.113.9]:80', ['203.0.113.9', 80]],
  ['::1', '127.0.0.1'],
  ['[::1]', '127.0.0.1'],
  ['unknown', 'unknown'],
  ['Unknown', 'unknown'],
  ['unknown:4711', 'unknown'],
  ['unknowns', 'not-an-address'],
  ['_hidden', 'obfuscated'],
  ['_SEVKISEK:_port', 'obfuscated'],
  ['0300.0250.1.1', 'not-an-address'],
  ['0xcb.0.113.9', 'not-an-address'],
  ['0xcb007109', 'not-an-address'],
  ['3405803785', 'not-an-address'],
  ['203.113', 'not-an-address'],
  ['1.2.3', 'not-an-address'],
  ['203.0.113.256', 'not-an-address'],
  ['203.0.113.09', 'not-an-address'],
  ['203.0.113.0/24', 'not-an-address'],
  ['203.0.113.9 203.0.113.10', 'not-an-address'],
  ['client.example', 'not-an-address'],
  ['<script>', 'not-an-address'],
  ['constructor', 'not-an-address'],
  ['２０３.0.113.9', 'not-an-address'],
  ['\u00a0203.0.113.9', 'not-an-address'],
  ['203.0.113.9\0', 'not-an-address'],
];

describe('forwardedHops', () => {
  test.each(NODES)('of X-Forwarded-For reads %j as %j', (node, reading) => {
    expect(hops('x-forwarded-for', `6.6.6.6, ${node}`)[0]).toEqual(hopOf(node, reading));
  });

  test.each(NODES)('of Forwarded reads %j as %j', (node, reading) => {
    const element = `by=_a;for="${node}";proto=https`;
    expect(hops('forwarded', `for=6.6.6.6, ${element}`)[0]).toEqual(hopOf(element, reading));
  });

  test.each<[string, Reading]>([
    ['for=203.0.113.9', '203.0.113.9'],
    ['FOR=203.0.113.9:80', ['203.0.113.9', 80]],
    ['for=[2001:db8::1]', '2001:db8::1'],
    ['for="203\\.0.113.9"', '203.0.113.9'],
    ['for=""', 'not-an-address'],
    ['proto=https', 'no-for'],
    [';', 'no-for'],
    ['203.0.113.9', 'malformed'],
    ['for=203.0.113.9;for=6.6.6.6', 'malformed'],
    ['for="203.0.113.9', 'malformed'],
  ])('of Forwarded reads the element %j as %j', (element, reading) => {
    expect(hops('forwarded', element)).toEqual([hopOf(element, reading)]);
  });

  test.each<[string, Reading]>([
    ['"203.0.113.9"', '203.0.113.9'],
    ['"203.0.113.9:80"', ['203.0.113.9', 80]],
    ['"[2001:db8::1]:80"', ['2001:db8::1', 80]],
    ['"203.0.113.9', 'not-an-address'],
    ['203.0.113.9"', 'not-an-address'],
    ['""203.0.113.9""', 'not-an-address'],
    ['for=203.0.113.9', 'not-an-address'],
  ])('of any other header reads the token %j as %j', (token, reading) => {
    expect(hops('cf-connecting-ip', token)).toEqual([hopOf(token, reading)]);
  });

  test('gives the nearest hop first, and reads on behind a refused one', () => {
    expect(hops('x-forwarded-for', '6.6.6.6,, unknown, 10.0.0.1')).toEqual([
      hopOf('10.0.0.1', '10.0.0.1'),
      hopOf('unknown', 'unknown'),
      hopOf('6.6.6.6', '6.6.6.6'),
    ]);
  });

  test('gives no hop for an empty header', () => {
    expect(hops('x-forwarded-for', '')).toEqual([]);
    expect(hops('forwarded', ' , ')).toEqual([]);
  });

  test.each(['x-forwarded-for', 'forwarded'])('says of %s what was not read', (header) => {
    expect(hops(header, 'a'.repeat(1025))).toEqual([{ token: '', refusal: 'too-long' }]);
    expect(hops(header, ','.repeat(64))).toEqual([{ token: '', refusal: 'too-many' }]);
  });
});
