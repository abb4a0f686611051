import ipaddr from 'ipaddr.js';
import type { Address } from './parse.ts';
import { type AddressBlock, type AddressKind, blockOf } from './special-purpose.ts';

/** The part of the contract's `actor.ip.metadata` that the address registries determine. */
export interface AddressMetadata {
  readonly version: 4 | 6;
  /** Reachable over the public internet; never for multicast, 6to4 and Teredo. */
  readonly global: boolean;
  readonly loopback: boolean;
  readonly multicast: boolean;
  /**
   * Not for the public internet, including loopback, link-local and documentation. Shared address space
   * (RFC 6598) and multicast are neither `global` nor `private`.
   */
  readonly private: boolean;
  readonly reserved: boolean;
  readonly unspecified: boolean;
  /** `public` if `global` is true. */
  readonly network_type: 'public' | 'private';
}

export interface AddressClassification {
  /** For `v4-mapped` and `nat64` the kind of the embedded IPv4 address. */
  readonly kind: AddressKind;
  /** The block that determines the kind. */
  readonly block: AddressBlock;
  /** An IPv4 address in an IPv6 address. 6to4: the router's; Teredo: the client's. */
  readonly embedded: ipaddr.IPv4 | undefined;
  readonly metadata: AddressMetadata;
}

const NEITHER_GLOBAL_NOR_PRIVATE: ReadonlySet<AddressKind> = new Set(['cgnat', 'multicast']);

/** First byte of the IPv4 address (RFC 4291 2.5.5.2, RFC 6052 2.1, RFC 3056 2, RFC 4380 4). */
const EMBEDDED_AT: ReadonlyMap<AddressKind, number> = new Map([
  ['v4-mapped', 12],
  ['nat64', 12],
  ['6to4', 2],
  ['teredo', 12],
]);

/** Classifies an address by the IANA registries alone, without a look-up. */
export function classifyAddress(address: Address): AddressClassification {
  const outerBlock = blockOf(address);
  const { kind } = outerBlock;
  const embedded = embeddedAddress(address, kind);
  const embeddedDecides = kind === 'v4-mapped' || kind === 'nat64';
  const block = embedded !== undefined && embeddedDecides ? blockOf(embedded) : outerBlock;
  return { kind: block.kind, block, embedded, metadata: metadataOf(address, block) };
}

function embeddedAddress(address: Address, kind: AddressKind): ipaddr.IPv4 | undefined {
  const at = EMBEDDED_AT.get(kind);
  // 192.88.99.0/24 also belongs to 6to4, but embeds no address.
  if (at === undefined || address instanceof ipaddr.IPv4) return undefined;
  const bytes = address.toByteArray().slice(at, at + 4);
  // Teredo inverts the bits.
  return new ipaddr.IPv4(kind === 'teredo' ? bytes.map((byte) => byte ^ 0xff) : bytes);
}

function metadataOf(address: Address, { kind, globallyReachable }: AddressBlock): AddressMetadata {
  const global = globallyReachable === true;
  return {
    version: address instanceof ipaddr.IPv4 ? 4 : 6,
    global,
    loopback: kind === 'loopback',
    multicast: kind === 'multicast',
    private: !global && !NEITHER_GLOBAL_NOR_PRIVATE.has(kind),
    reserved: kind === 'reserved',
    unspecified: kind === 'unspecified',
    network_type: global ? 'public' : 'private',
  };
}
