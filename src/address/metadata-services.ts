import type { Address } from './parse.ts';

/**
 * Addresses at which clouds give credentials and configuration to any process on a machine. Some are in
 * private, shared or public address space, so no address block covers them.
 */
export const METADATA_SERVICES: readonly (readonly [address: string, provider: string])[] = [
  ['169.254.169.254', 'AWS, Google Cloud, Azure, Oracle Cloud and others'],
  ['169.254.170.2', 'AWS ECS task credentials'],
  ['169.254.170.23', 'AWS EKS Pod Identity'],
  ['169.254.42.42', 'Scaleway'],
  ['169.254.0.23', 'Tencent Cloud'],
  ['169.254.10.10', 'Tencent Cloud'],
  ['100.100.100.200', 'Alibaba Cloud'],
  ['100.96.0.96', 'Volcano Engine'],
  ['168.63.129.16', 'Azure WireServer'],
  ['192.0.0.192', 'Oracle Cloud Classic'],
  ['fd00:ec2::254', 'AWS'],
  ['fd00:ec2::23', 'AWS EKS Pod Identity'],
  ['fd20:ce::254', 'Google Cloud'],
  ['fd00:c1::a9fe:a9fe', 'Oracle Cloud'],
  ['fd00:a9fe:a9fe::1', 'Akamai (Linode)'],
  ['fd00:42::42', 'Scaleway'],
  ['fd00:100::100:200', 'Alibaba Cloud'],
  ['fe80::a9fe:a9fe', 'OpenStack'],
];

const ADDRESSES: ReadonlySet<string> = new Set(METADATA_SERVICES.map(([address]) => address));

export function isMetadataService(address: Address): boolean {
  return ADDRESSES.has(address.toString());
}
