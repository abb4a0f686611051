/**
 * The IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190; state of 2025-10-09), and
 * other reserved space: multicast, deprecated forms of IPv6, and space not assigned to unicast.
 *
 * https://www.iana.org/assignments/iana-ipv4-special-registry
 * https://www.iana.org/assignments/iana-ipv6-special-registry
 */
import ipaddr from 'ipaddr.js';
import { lazyValue } from '../lazy-value.ts';
import type { Address } from './parse.ts';

/** The purpose of an address. For `v4-mapped` and `nat64` the embedded IPv4 address decides. */
export type AddressKind =
  | 'global'
  | 'private'
  | 'loopback'
  | 'link-local'
  | 'cgnat'
  | 'multicast'
  | 'unspecified'
  | 'documentation'
  | 'benchmarking'
  /** used by protocols: discovery, anycast relays and sinks, identifiers that are not routed */
  | 'protocol'
  | 'v4-mapped'
  | 'nat64'
  | 'nat64-local'
  | '6to4'
  | 'teredo'
  | 'reserved';

export interface AddressBlock {
  readonly cidr: string;
  /** The registry's name. */
  readonly name: string;
  /** Such as `RFC 1918`. */
  readonly rfc: string;
  readonly kind: AddressKind;
  /** The registry's column; `n/a` if it depends on the embedded address. */
  readonly globallyReachable: boolean | 'n/a';
}

type Row = readonly [
  cidr: string,
  name: string,
  rfc: string,
  kind: AddressKind,
  globallyReachable: boolean | 'n/a',
];

const IPV4_ROWS: readonly Row[] = [
  ['0.0.0.0/0', 'Unicast', 'RFC 791', 'global', true],
  ['0.0.0.0/8', 'This network', 'RFC 791', 'reserved', false],
  ['0.0.0.0/32', 'This host on this network', 'RFC 1122', 'unspecified', false],
  ['10.0.0.0/8', 'Private-Use', 'RFC 1918', 'private', false],
  ['100.64.0.0/10', 'Shared Address Space', 'RFC 6598', 'cgnat', false],
  ['127.0.0.0/8', 'Loopback', 'RFC 1122', 'loopback', false],
  ['169.254.0.0/16', 'Link Local', 'RFC 3927', 'link-local', false],
  ['172.16.0.0/12', 'Private-Use', 'RFC 1918', 'private', false],
  ['192.0.0.0/24', 'IETF Protocol Assignments', 'RFC 6890', 'protocol', false],
  ['192.0.0.0/29', 'IPv4 Service Continuity Prefix', 'RFC 7335', 'protocol', false],
  ['192.0.0.8/32', 'IPv4 dummy address', 'RFC 7600', 'protocol', false],
  ['192.0.0.9/32', 'Port Control Protocol Anycast', 'RFC 7723', 'protocol', true],
  ['192.0.0.10/32', 'Traversal Using Relays around NAT Anycast', 'RFC 8155', 'protocol', true],
  ['192.0.0.170/32', 'NAT64/DNS64 Discovery', 'RFC 8880', 'protocol', false],
  ['192.0.0.171/32', 'NAT64/DNS64 Discovery', 'RFC 8880', 'protocol', false],
  ['192.0.2.0/24', 'Documentation (TEST-NET-1)', 'RFC 5737', 'documentation', false],
  ['192.31.196.0/24', 'AS112-v4', 'RFC 7535', 'protocol', true],
  ['192.52.193.0/24', 'AMT', 'RFC 7450', 'protocol', true],
  ['192.88.99.0/24', 'Deprecated (6to4 Relay Anycast)', 'RFC 7526', '6to4', 'n/a'],
  ['192.88.99.2/32', '6a44-relay anycast address', 'RFC 6751', 'protocol', false],
  ['192.168.0.0/16', 'Private-Use', 'RFC 1918', 'private', false],
  ['192.175.48.0/24', 'Direct Delegation AS112 Service', 'RFC 7534', 'protocol', true],
  ['198.18.0.0/15', 'Benchmarking', 'RFC 2544', 'benchmarking', false],
  ['198.51.100.0/24', 'Documentation (TEST-NET-2)', 'RFC 5737', 'documentation', false],
  ['203.0.113.0/24', 'Documentation (TEST-NET-3)', 'RFC 5737', 'documentation', false],
  ['224.0.0.0/4', 'Multicast', 'RFC 5771', 'multicast', false],
  ['240.0.0.0/4', 'Reserved', 'RFC 1112', 'reserved', false],
  ['255.255.255.255/32', 'Limited Broadcast', 'RFC 919', 'reserved', false],
];

const IPV6_ROWS: readonly Row[] = [
  ['::/0', 'Reserved by IETF', 'RFC 4291', 'reserved', false],
  ['2000::/3', 'Global Unicast', 'RFC 4291', 'global', true],
  ['::/96', 'IPv4-compatible Address (deprecated)', 'RFC 4291', 'reserved', false],
  ['::/128', 'Unspecified Address', 'RFC 4291', 'unspecified', false],
  ['::1/128', 'Loopback Address', 'RFC 4291', 'loopback', false],
  ['::ffff:0:0/96', 'IPv4-mapped Address', 'RFC 4291', 'v4-mapped', false],
  ['::ffff:0:0:0/96', 'IPv4-translated Address (deprecated)', 'RFC 2765', 'reserved', false],
  ['64:ff9b::/96', 'IPv4-IPv6 Translat.', 'RFC 6052', 'nat64', true],
  ['64:ff9b:1::/48', 'IPv4-IPv6 Translat.', 'RFC 8215', 'nat64-local', false],
  ['100::/64', 'Discard-Only Address Block', 'RFC 6666', 'reserved', false],
  ['100:0:0:1::/64', 'Dummy IPv6 Prefix', 'RFC 9780', 'reserved', false],
  ['2001::/23', 'IETF Protocol Assignments', 'RFC 2928', 'protocol', false],
  ['2001::/32', 'TEREDO', 'RFC 4380', 'teredo', 'n/a'],
  ['2001:1::1/128', 'Port Control Protocol Anycast', 'RFC 7723', 'protocol', true],
  ['2001:1::2/128', 'Traversal Using Relays around NAT Anycast', 'RFC 8155', 'protocol', true],
  ['2001:1::3/128', 'DNS-SD Service Registration Protocol Anycast', 'RFC 9665', 'protocol', true],
  ['2001:2::/48', 'Benchmarking', 'RFC 5180', 'benchmarking', false],
  ['2001:3::/32', 'AMT', 'RFC 7450', 'protocol', true],
  ['2001:4:112::/48', 'AS112-v6', 'RFC 7535', 'protocol', true],
  ['2001:10::/28', 'Deprecated (previously ORCHID)', 'RFC 4843', 'protocol', false],
  ['2001:20::/28', 'ORCHIDv2', 'RFC 7343', 'protocol', true],
  ['2001:30::/28', 'Drone Remote ID Protocol Entity Tags', 'RFC 9374', 'protocol', true],
  ['2001:db8::/32', 'Documentation', 'RFC 3849', 'documentation', false],
  ['2002::/16', '6to4', 'RFC 3056', '6to4', 'n/a'],
  ['2620:4f:8000::/48', 'Direct Delegation AS112 Service', 'RFC 7534', 'protocol', true],
  ['3fff::/20', 'Documentation', 'RFC 9637', 'documentation', false],
  ['5f00::/16', 'Segment Routing (SRv6) SIDs', 'RFC 9602', 'reserved', false],
  ['fc00::/7', 'Unique-Local', 'RFC 4193', 'private', false],
  ['fe80::/10', 'Link-Local Unicast', 'RFC 4291', 'link-local', false],
  ['fec0::/10', 'Site-Local Unicast (deprecated)', 'RFC 3879', 'reserved', false],
  ['ff00::/8', 'Multicast', 'RFC 4291', 'multicast', false],
];

/** Blocks may be nested: the one with the longest matching prefix counts. */
export const ADDRESS_BLOCKS: readonly AddressBlock[] = [...IPV4_ROWS, ...IPV6_ROWS].map(
  ([cidr, name, rfc, kind, globallyReachable]) => ({ cidr, name, rfc, kind, globallyReachable }),
);

const longestFirst = lazyValue(() =>
  ADDRESS_BLOCKS.map((block) => ({ block, range: ipaddr.parseCIDR(block.cidr) })).toSorted(
    (a, b) => b.range[1] - a.range[1],
  ),
);

/** Returns the smallest block that contains the address; `0.0.0.0/0` and `::/0` contain all. */
export function blockOf(address: Address): AddressBlock {
  const holder = longestFirst().find(
    ({ range: [network, prefix] }) =>
      network.kind() === address.kind() && address.match(network, prefix),
  );
  return (holder as { readonly block: AddressBlock }).block;
}
