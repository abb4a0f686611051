import { describe, expect, test } from 'vitest';
import { isMetadataService, METADATA_SERVICES } from '../../src/address/metadata-services.ts';
import { parseAddress } from '../../src/address/parse.ts';

const isService = (text: string): boolean | undefined => {
  const address = parseAddress(text);
  return address && isMetadataService(address);
};

describe('isMetadataService', () => {
  test.each([
    '169.254.169.254',
    '169.254.170.2',
    '169.254.170.23',
    '169.254.42.42',
    '169.254.0.23',
    '169.254.10.10',
    '100.100.100.200',
    '100.96.0.96',
    '168.63.129.16',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:a9fe:a9fe::1',
    'fd00:42::42',
    'fd00:100::100:200',
    'fe80::a9fe:a9fe',
  ])('knows %s', (text) => {
    expect(isService(text)).toBe(true);
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

  test('names the operator of each service, once', () => {
    const addresses = METADATA_SERVICES.map(([address]) => address);
    expect(new Set(addresses).size).toBe(addresses.length);
    for (const [, provider] of METADATA_SERVICES) expect(provider).toMatch(/^[A-Z]/);
  });
});
