import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { METADATA_SERVICES } from '../../../src/address/metadata-services.ts';
import { ADDRESS_BLOCKS } from '../../../src/address/special-purpose.ts';
import { type NetworkPolicy, refusalOf } from '../../../src/webhook/http/ssrf-guard.ts';

const OPEN = undefined;

/** Address, and the rule that refuses it under 'public' and under 'allow-private'. */
const VERDICTS: readonly (readonly [string, string | undefined, string | undefined])[] = [
  ['8.8.8.8', OPEN, OPEN],
  ['2606:4700:4700::1111', OPEN, OPEN],

  ['10.0.0.1', 'private', OPEN],
  ['fc00::1', 'private', OPEN],
  ['127.0.0.1', 'loopback', OPEN],
  ['::1', 'loopback', OPEN],

  ['169.254.1.1', 'link-local', 'link-local'],
  ['fe80::1', 'link-local', 'link-local'],
  ['fe80::1%eth0', 'link-local', 'link-local'],
  ['100.64.0.1', 'cgnat', 'cgnat'],
  ['64:ff9b:1::8.8.8.8', 'nat64-local', 'nat64-local'],
  ['2002:808:808::1', '6to4', '6to4'],
  ['2001:0:4136:e378:8000:63bf:80ff:fffe', 'teredo', 'teredo'],
  ['224.0.0.1', 'multicast', 'multicast'],
  ['ff02::1', 'multicast', 'multicast'],
  ['0.0.0.0', 'unspecified', 'unspecified'],
  ['::', 'unspecified', 'unspecified'],
  ['240.0.0.1', 'reserved', 'reserved'],
  ['::127.0.0.1', 'reserved', 'reserved'],
  ['::ffff:0:127.0.0.1', 'reserved', 'reserved'],
  ['203.0.113.9', 'documentation', 'documentation'],
  ['2001:db8::1', 'documentation', 'documentation'],
  ['3fff::1', 'documentation', 'documentation'],
  ['198.18.0.1', 'benchmarking', 'benchmarking'],
  // Globally reachable by the registry, but anycast: no receiver's address.
  ['192.0.0.9', 'protocol', 'protocol'],
  ['2001:20::1', 'protocol', 'protocol'],

  ...METADATA_SERVICES.map(
    ([address]) => [address, 'metadata-service', 'metadata-service'] as const,
  ),
  ['::ffff:169.254.169.254', 'metadata-service', 'metadata-service'],
  ['64:ff9b::168.63.129.16', 'metadata-service', 'metadata-service'],
  ['2002:a9fe:a9fe::1', 'metadata-service', 'metadata-service'],
  ['2001:0:4136:e378:8000:63bf:5601:5601', 'metadata-service', 'metadata-service'],
  ['FD00:EC2:0::254%eth0', 'metadata-service', 'metadata-service'],

  ['', 'not-an-address', 'not-an-address'],
  ['localhost', 'not-an-address', 'not-an-address'],
  ['010.8.8.8', 'not-an-address', 'not-an-address'],
];

const ruleOf = (address: string, network: NetworkPolicy): string | undefined =>
  /^rule '([\w-]+)' refuses /.exec(refusalOf(address, network) ?? '')?.[1];

describe('refusalOf', () => {
  test('follows the table for each kind of address and network', () => {
    const judged = VERDICTS.map(([address]) => [
      address,
      ruleOf(address, 'public'),
      ruleOf(address, 'allow-private'),
    ]);
    expect(judged).toEqual(VERDICTS);
    const delegated = VERDICTS.map(([address]) => refusalOf(address, 'delegated'));
    expect(delegated.filter((verdict) => verdict !== undefined)).toEqual([]);
  });

  test('is tested with each kind of address', () => {
    const rules = new Set(VERDICTS.map(([, rule]) => rule));
    // Addresses of the last two kinds are judged by their embedded address.
    const others = ['global', 'v4-mapped', 'nat64'];
    const without = ADDRESS_BLOCKS.filter(({ kind }) => !rules.has(kind) && !others.includes(kind));
    expect(without).toEqual([]);
  });

  test('names the rule, the kind of address and the option that would allow it', () => {
    expect(refusalOf('10.1.2.3', 'public')).toBe(
      "rule 'private' refuses 10.0.0.0/8 (Private-Use, RFC 1918) under network: 'public'; network: 'allow-private' would allow it",
    );
    expect(refusalOf('100.64.7.7', 'allow-private')).toBe(
      "rule 'cgnat' refuses 100.64.0.0/10 (Shared Address Space, RFC 6598) under network: 'allow-private'; only network: 'delegated' would allow it",
    );
    expect(refusalOf('fd20:ce::254', 'allow-private')).toBe(
      "rule 'metadata-service' refuses the metadata service of a cloud under network: 'allow-private'; only network: 'delegated' would allow it",
    );
  });

  test('does not contain the address', () => {
    const octet = fc.integer({ min: 1, max: 255 });
    const inside = fc.tuple(fc.constantFrom('10', '127', '224'), octet, octet, octet);
    fc.assert(
      fc.property(inside, (octets) => {
        const detail = refusalOf(octets.join('.'), 'public');
        expect(detail).toMatch(/^rule /);
        expect(detail).not.toContain(octets.join('.'));
      }),
    );
  });

  test('allows under allow-private everything that public allows', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        if (refusalOf(address, 'public') !== undefined) return;
        expect(refusalOf(address, 'allow-private')).toBeUndefined();
      }),
    );
  });

  test('judges an IPv4 address alike when plain, mapped or behind the well-known NAT64 prefix', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom('public', 'allow-private'), (address, network) => {
        const alone = refusalOf(address, network);
        expect(refusalOf(`::ffff:${address}`, network)).toEqual(alone);
        expect(refusalOf(`64:ff9b::${address}`, network)).toEqual(alone);
      }),
    );
  });
});
