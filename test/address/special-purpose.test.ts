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
});

function parsed(text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${text} is no address`);
  return address;
}
