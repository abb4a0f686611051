import { describe, expect, test } from 'vitest';
import { type AddressClassification, classifyAddress } from '../../src/address/classify.ts';
import { parseAddress } from '../../src/address/parse.ts';
import { BLOCK_EDGES } from './block-edges.ts';

function factsOf(text: string): AddressClassification {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${text} is no address`);
  return classifyAddress(address);
}

/** Returns the names of the set flags. */
function flagsOf(text: string): string {
  const { metadata } = factsOf(text);
  return Object.entries(metadata)
    .filter(([, value]) => value === true)
    .map(([name]) => name)
    .join(' ');
}

describe('classifyAddress', () => {
  test.each([
    ['8.8.8.8', 'global', 'global'],
    ['10.1.2.3', 'private', 'private'],
    ['127.0.0.1', 'loopback', 'loopback private'],
    ['169.254.1.1', 'link-local', 'private'],
    ['100.64.0.1', 'cgnat', ''],
    ['224.0.0.1', 'multicast', 'multicast'],
    ['0.0.0.0', 'unspecified', 'private unspecified'],
    ['203.0.113.9', 'documentation', 'private'],
    ['198.18.0.1', 'benchmarking', 'private'],
    ['240.0.0.1', 'reserved', 'private reserved'],
    ['192.0.0.1', 'protocol', 'private'],
    ['192.0.0.9', 'protocol', 'global'],
    ['192.88.99.1', '6to4', 'private'],
    ['2002:808:808::1', '6to4', 'private'],
    ['2001::1', 'teredo', 'private'],
    ['64:ff9b:1::8.8.8.8', 'nat64-local', 'private'],
  ])('classifies %s as %s: %s', (text, kind, flags) => {
    expect(factsOf(text).kind).toBe(kind);
    expect(flagsOf(text)).toBe(flags);
  });

  test.each([
    ['::ffff:8.8.8.8', 'global', '0.0.0.0/0', 'global', '8.8.8.8'],
    ['::ffff:7f00:1', 'loopback', '127.0.0.0/8', 'loopback private', '127.0.0.1'],
    ['64:ff9b::8.8.8.8', 'global', '0.0.0.0/0', 'global', '8.8.8.8'],
    ['64:ff9b::a01:203', 'private', '10.0.0.0/8', 'private', '10.1.2.3'],
    ['2002:a01:203::1', '6to4', '2002::/16', 'private', '10.1.2.3'],
    // RFC 4380 4: the client's address is 192.0.2.45 with inverted bits.
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'teredo', '2001::/32', 'private', '192.0.2.45'],
  ])('classifies %s as %s in %s (%s) that embeds %s', (...row) => {
    const [text, kind, cidr, flags, inside] = row;
    const { embedded, block, ...facts } = factsOf(text);
    expect([facts.kind, block.cidr, flagsOf(text)]).toEqual([kind, cidr, flags]);
    expect(embedded?.toString()).toBe(inside);
  });

  test.each(['8.8.8.8', '192.88.99.1', '2606:4700::1', '64:ff9b:1::8.8.8.8', '::8.8.8.8'])(
    'finds no IPv4 address inside %s',
    (text) => {
      expect(factsOf(text).embedded).toBeUndefined();
    },
  );

  // describe-address.test.ts has all fields.
  test('classifies a global address as public and every other as private', () => {
    for (const { address } of BLOCK_EDGES.flatMap(({ edges }) => edges)) {
      const { metadata, block } = factsOf(address);
      expect(metadata.network_type).toBe(block.globallyReachable === true ? 'public' : 'private');
      expect(metadata.global).toBe(metadata.network_type === 'public');
      expect(metadata.global && metadata.private).toBe(false);
    }
  });
});
