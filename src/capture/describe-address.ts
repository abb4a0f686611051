/** The contract's `actor.ip` of an address (D12, D13, D14, D19). */
import { classifyAddress } from '../address/classify.ts';
import { normaliseAddress } from '../address/normalise.ts';
import { type Address, parseAddress } from '../address/parse.ts';
import type { LogActor } from '../contract/index.ts';
import type { Enrichment } from './enrichers.ts';
import { ownText } from './own-text.ts';

export type ActorIp = LogActor['ip'];

export interface DescribeAddressOptions {
  /** What else is known of addresses: see `createEnrichment`. Default: nothing. */
  readonly enrichment?: Enrichment;
}

/**
 * All facts of an IP address that the contract asks for, in its spelling (`::ffff:203.0.113.9` is
 * `203.0.113.9`, `::1` is `127.0.0.1`); `undefined` for text that is no address. Without an enricher
 * `proxy`, `tor` and `vpn` are false, `datacenter` is null and `geo` is `{}`, as it always is for
 * addresses that are not public.
 */
export function describeAddress(
  address: string,
  { enrichment }: DescribeAddressOptions = {},
): ActorIp | undefined {
  const spelt = normaliseAddress(address);
  if (spelt === undefined) return undefined;
  // Enrichers keep addresses for hours.
  const normal = ownText(spelt);
  const { metadata } = classifyAddress(parseAddress(normal) as Address);
  const known = enrichment?.factsOf(normal) ?? {};
  const { geo, datacenter, proxy = false, tor = false, vpn = false } = known;
  return {
    address: normal,
    // Copies: what is cached for later events must not change with a record.
    geo: metadata.global && geo !== undefined ? { ...geo } : {},
    metadata: { ...metadata, datacenter: datacenter ? { ...datacenter } : null, proxy, tor, vpn },
  };
}
