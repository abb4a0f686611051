import { describe, expect, test } from 'vitest';
import { isMetadataService, METADATA_SERVICES } from '../../src/address/metadata-services.ts';
import { parseAddress } from '../../src/address/parse.ts';

const isService = (text: string): boolean | undefined => {
  const address = parseAddress(text);
  return address && isMetadataService(address);
};

describe('isMetadataService', () => {
  test('knows each address of the table, which a look-up would find in this spelling', () => {
    const addresses = METADATA_SERVICES.map(([address]) => address);
    expect(addresses.filter((address) => isService(address) !== true)).toEqual([]);
    expect(new Set(addresses).size).toBe(18);
    // One of each address space.
    for (const one of ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254'])
      expect(addresses).toContain(one);
  });

  test.each(['FD00:0EC2:0:0::0254', 'fd20:ce:0:0:0:0:0:254%eth0', 'fe80::169.254.169.254'])(
    'knows them in the spelling %s',
    (text) => {
      expect(isService(text)).toBe(true);
    },
  );

  test.each(['169.254.169.253', '169.254.170.3', '168.63.129.17', 'fd00:ec2::255', 'fd20:ce::'])(
    'does not take the neighbour %s for one',
    (text) => {
      expect(isService(text)).toBe(false);
    },
  );
});
