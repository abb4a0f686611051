/**
 * Which addresses a sender may connect to (D77). A URL or a name never decides: the address does.
 *
 * Not seen here, since the address does not tell: an IPv4 address inside the NAT64 prefix of a
 * network of its own (RFC 6052 2.2), and public addresses that a router leads back inside.
 */
import { isIP } from 'node:net';
import { classifyAddress } from '../../address/classify.ts';
import { isMetadataService } from '../../address/metadata-services.ts';
import { parseAddress } from '../../address/parse.ts';
import type { AddressKind } from '../../address/special-purpose.ts';
import { SecurityEventError } from '../../errors.ts';

/**
 * - `public`: globally reachable addresses only.
 * - `allow-private`: private (RFC 1918, fc00::/7) and loopback addresses, too.
 * - `delegated`: any; a dispatcher or proxy of the host's own decides.
 */
export type NetworkPolicy = 'public' | 'allow-private' | 'delegated';

/** Stable words: the kind of the address, or why none could be told. */
export type RefusalRule = Exclude<AddressKind, 'global'> | 'metadata-service' | 'not-an-address';

export interface Refusal {
  readonly rule: RefusalRule;
  /**
   * Names the rule, the kind of address and the option that would allow it; no full stop. It never
   * holds the address: what a name of somebody else's resolves to inside is not theirs to learn.
   */
  readonly detail: string;
}

const OPENED_BY_ALLOW_PRIVATE: ReadonlySet<string> = new Set(['private', 'loopback']);

/** `undefined` where the address may be connected to. Takes what `net.isIP` takes. */
export function judgeAddress(text: string, network: NetworkPolicy): Refusal | undefined {
  if (network === 'delegated') return undefined;
  const address = parseAddress(text);
  if (address === undefined) return refusal('not-an-address', 'what is no IP address', network);

  const { kind, block, embedded } = classifyAddress(address);
  // First: these lie in private and public space, too, and no policy but `delegated` opens them.
  if (isMetadataService(embedded?.address ?? address)) {
    return refusal('metadata-service', 'the metadata service of a cloud', network);
  }
  if (kind === 'global' || (network === 'allow-private' && OPENED_BY_ALLOW_PRIVATE.has(kind))) {
    return undefined;
  }
  return refusal(kind, `${block.cidr} (${block.name}, ${block.rfc})`, network);
}

/** @throws SecurityEventError `ERR_ADDRESS_REFUSED` */
export function refuseAddress(address: string, network: NetworkPolicy): void {
  const refused = judgeAddress(address, network);
  if (refused === undefined) return;
  throw new SecurityEventError('ERR_ADDRESS_REFUSED', {
    detail: refused.detail,
    path: ['network'],
  });
}

/**
 * Judges a URL whose host is an address (D82). A name is judged when connecting: it may lead elsewhere then.
 *
 * @throws SecurityEventError `ERR_ADDRESS_REFUSED`
 */
export function refuseLiteralAddress({ hostname }: URL, network: NetworkPolicy): void {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(host) !== 0) refuseAddress(host, network);
}

function refusal(rule: RefusalRule, what: string, network: NetworkPolicy): Refusal {
  const opener = OPENED_BY_ALLOW_PRIVATE.has(rule)
    ? "network: 'allow-private'"
    : "only network: 'delegated'";
  const detail = `rule '${rule}' refuses ${what} under network: '${network}'; ${opener} would allow it`;
  return { rule, detail };
}
