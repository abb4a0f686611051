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

/** How an IPv6 address carries an IPv4 address. */
export type Carrier = 'v4-mapped' | 'nat64' | '6to4' | 'teredo';

export interface AddressClassification {
  /** For `v4-mapped` and `nat64` the kind of the embedded IPv4 address. */
  readonly kind: AddressKind;
  /** The block that determines the kind. */
  readonly block: AddressBlock;
  /** 6to4: the router's address; Teredo: the client's. */
  readonly embedded: { readonly carrier: Carrier; readonly address: ipaddr.IPv4 } | undefined;
  readonly metadata: AddressMetadata;
}

const NEITHER_GLOBAL_NOR_PRIVATE: ReadonlySet<AddressKind> = new Set(['cgnat', 'multicast']);

/**
 * Position of the IPv4 address (RFC 4291 2.5.5.2, RFC 6052 2.1, RFC 3056 2, RFC 4380 4), and whether it decides
 * the kind.
 */
const CARRIERS: Readonly<
  Record<Carrier, { firstByte: number; inverted: boolean; embeddedDecides: boolean }>
> = {
  'v4-mapped': { firstByte: 12, inverted: false, embeddedDecides: true },
  nat64: { firstByte: 12, inverted: false, embeddedDecides: true },
  '6to4': { firstByte: 2, inverted: false, embeddedDecides: false },
  teredo: { firstByte: 12, inverted: true, embeddedDecides: false },
};

/** Classifies an address by the IANA registries alone, without a look-up. */
export function classifyAddress(address: Address): AddressClassification {
  const outerBlock = blockOf(address);
  const embedded = embeddedAddress(address, outerBlock.kind);
  const usesEmbedded = embedded !== undefined && CARRIERS[embedded.carrier].embeddedDecides;
  const block = usesEmbedded ? blockOf(embedded.address) : outerBlock;
  return { kind: block.kind, block, embedded, metadata: metadataOf(address, block) };
}

function embeddedAddress(address: Address, kind: AddressKind): AddressClassification['embedded'] {
  // 192.88.99.0/24 also belongs to 6to4, but embeds no address.
  if (!isCarrier(kind) || address instanceof ipaddr.IPv4) return undefined;
  const { firstByte, inverted } = CARRIERS[kind];
  const bytes = address.toByteArray().slice(firstByte, firstByte + 4);
  const octets = inverted ? bytes.map((byte) => byte ^ 0xff) : bytes;
  return { carrier: kind, address: new ipaddr.IPv4(octets) };
}

function isCarrier(kind: AddressKind): kind is Carrier {
  return Object.hasOwn(CARRIERS, kind);
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
