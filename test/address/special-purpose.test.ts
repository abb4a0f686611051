import { BlockList, isIPv4 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Address, parseAddress } from '../../src/address/parse.ts';
import { ADDRESS_BLOCKS, blockOf } from '../../src/address/special-purpose.ts';
import { BLOCK_EDGES } from './block-edges.ts';

describe('blockOf', () => {
  test('has the same edges of each block as the registry', () => {
    for (const { edges } of BLOCK_EDGES) {
      expect(edges.map(({ address }) => [address, blockOf(parsed(address)).cidr])).toEqual(
        edges.map(({ address, holder }) => [address, holder]),
      );
    }
  });

  test('has exactly the blocks of the registry, with their kinds and reachability', () => {
    expect(ADDRESS_BLOCKS).toEqual(
      BLOCK_EDGES.map(({ cidr, kind, globallyReachable }) =>
        expect.objectContaining({ cidr, kind, globallyReachable }),
      ),
    );
  });

  test('finds the smallest block that net.BlockList finds, for any address', () => {
    const near = fc
      .constantFrom(...BLOCK_EDGES.flatMap(({ edges }) => edges))
      .map((e) => e.address);
    fc.assert(
      fc.property(fc.oneof(near, fc.ipV4(), fc.ipV6()), (text) => {
        expect(blockOf(parsed(text)).cidr).toBe(smallestByBlockList(text));
      }),
      { numRuns: 300 },
    );
  });
});

function parsed(text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${text} is no address`);
  return address;
}

/** A BlockList rejects a prefix of 0, which contains every address of its family. */
const BLOCK_LISTS = ADDRESS_BLOCKS.map(({ cidr }) => {
  const [network = '', prefix = ''] = cidr.split('/');
  const list = new BlockList();
  if (prefix !== '0') list.addSubnet(network, Number(prefix), familyOf(network));
  return { cidr, prefix: Number(prefix), family: familyOf(network), list };
}).toSorted((a, b) => b.prefix - a.prefix);

/** Checks only blocks of the same family: `net.BlockList` also matches mapped addresses. */
function smallestByBlockList(text: string): string | undefined {
  return BLOCK_LISTS.find(
    ({ family, prefix, list }) =>
      family === familyOf(text) && (prefix === 0 || list.check(text, family)),
  )?.cidr;
}

function familyOf(text: string): 'ipv4' | 'ipv6' {
  return isIPv4(text) ? 'ipv4' : 'ipv6';
}
