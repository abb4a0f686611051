/**
 * Decides which addresses a sender may connect to. Never decides by URL or name.
 *
 * It cannot recognise an IPv4 address inside a network-specific NAT64 prefix (RFC 6052 section 2.2),
 * or a public address that a router leads back into the private network.
 */
import { isIP } from 'node:net';
import { classifyAddress } from '../../address/classify.ts';
import { isMetadataService } from '../../address/metadata-services.ts';
import { parseAddress } from '../../address/parse.ts';
import type { AddressKind } from '../../address/special-purpose.ts';
import { SecurityEventError } from '../../errors.ts';

/**
 * - `public`: globally reachable addresses only.
 * - `allow-private`: also private (RFC 1918, fc00::/7) and loopback addresses.
 * - `delegated`: any; the host's own dispatcher or proxy decides.
 */
export type NetworkPolicy = 'public' | 'allow-private' | 'delegated';

/** The kind of the refused address, as a stable code. */
type RefusalRule = Exclude<AddressKind, 'global'> | 'metadata-service' | 'not-an-address';

const OPENED_BY_ALLOW_PRIVATE: ReadonlySet<string> = new Set(['private', 'loopback']);

/**
 * Returns why an address, in a form that `net.isIP` accepts, is refused: the rule, the kind of address and the
 * option that would allow it. Never contains the address: the owner of the webhook must not learn what names
 * resolve to inside. Returns undefined if it is allowed.
 */
export function refusalOf(text: string, network: NetworkPolicy): string | undefined {
  if (network === 'delegated') return undefined;
  const address = parseAddress(text);
  if (address === undefined)
    return refusal('not-an-address', 'text that is not an IP address', network);

  const { kind, block, embedded } = classifyAddress(address);
  // Checked first: these may be private or public, and only `delegated` allows them.
  if (isMetadataService(embedded ?? address)) {
    return refusal('metadata-service', 'the metadata service of a cloud', network);
  }
  if (kind === 'global' || (network === 'allow-private' && OPENED_BY_ALLOW_PRIVATE.has(kind))) {
    return undefined;
  }
  return refusal(kind, `${block.cidr} (${block.name}, ${block.rfc})`, network);
}

/** @throws SecurityEventError `ERR_ADDRESS_REFUSED` */
export function checkAddress(address: string, network: NetworkPolicy): void {
  const detail = refusalOf(address, network);
  if (detail === undefined) return;
  throw new SecurityEventError('ERR_ADDRESS_REFUSED', { detail, path: ['network'] });
}

/**
 * Checks a URL whose host is an address. Names are checked when connecting, after the look-up.
 *
 * @throws SecurityEventError `ERR_ADDRESS_REFUSED`
 */
export function checkLiteralAddress({ hostname }: URL, network: NetworkPolicy): void {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(host) !== 0) checkAddress(host, network);
}

function refusal(rule: RefusalRule, what: string, network: NetworkPolicy): string {
  const opener = OPENED_BY_ALLOW_PRIVATE.has(rule)
    ? "network: 'allow-private'"
    : "only network: 'delegated'";
  return `rule '${rule}' refuses ${what} under network: '${network}'; ${opener} would allow it`;
}
