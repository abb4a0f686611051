/** Builds the contract's `actor.ip` of an address. */
import { classifyAddress } from '../../address/classify.ts';
import { normaliseAddress } from '../../address/normalise.ts';
import { type Address, parseAddress } from '../../address/parse.ts';
import type { LogActor } from '../../contract/index.ts';
import { type OptionsOf, optional, readOptions, usable } from '../../option-rules.ts';
import { isObjectLike, ownProperties } from '../../own-properties.ts';
import { ownText } from '../request/clean-text.ts';
import type { Enrichment } from './enrichers.ts';
import type { AddressEnrichment } from './enrichment.ts';

export type ActorIp = LogActor['ip'];

export const ENRICHMENT_OPTION = {
  /** Adds facts about addresses: see `createEnrichment`. Default: none. */
  enrichment: optional<Enrichment>(usable('the result of `createEnrichment`', isObjectLike)),
} as const;

export interface DescribeAddressOptions extends OptionsOf<typeof ENRICHMENT_OPTION> {}

/**
 * Returns all facts of an IP address that the contract requires, with a normalised address
 * (`::ffff:203.0.113.9` becomes `203.0.113.9`, `::1` becomes `127.0.0.1`); `undefined` for text that is
 * no address. Without an enricher `proxy`, `tor` and `vpn` are false, `datacenter` is null and `geo` is
 * `{}`. `geo` is always `{}` for addresses that are not public.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function describeAddress(
  address: string,
  options: DescribeAddressOptions = {},
): ActorIp | undefined {
  const { enrichment } = readOptions(options, ENRICHMENT_OPTION);
  const normal = normaliseAddress(address);
  return normal === undefined ? undefined : describeNormalised(normal, enrichment);
}

/** Describes a normalised address. */
export function describeNormalised(address: string, enrichment: Enrichment | undefined): ActorIp {
  // Copies the text: enrichers cache the address for hours, and a slice would keep the whole header in memory.
  const normal = ownText(address);
  const { metadata } = classifyAddress(parseAddress(normal) as Address);
  const { geo, datacenter, proxy, tor, vpn } = ownProperties(
    enrichment?.factsOf(normal) ?? NO_FACTS,
  );
  return {
    address: normal,
    // Copies, since the facts are cached and the record may be changed.
    geo: metadata.global && geo !== undefined ? { ...geo } : {},
    // Listed one by one: in V8 a spread followed by other keys costs more than everything else here.
    metadata: {
      datacenter: datacenter ? { ...datacenter } : null,
      global: metadata.global,
      loopback: metadata.loopback,
      multicast: metadata.multicast,
      network_type: metadata.network_type,
      private: metadata.private,
      proxy: proxy ?? false,
      reserved: metadata.reserved,
      tor: tor ?? false,
      unspecified: metadata.unspecified,
      version: metadata.version,
      vpn: vpn ?? false,
    },
  };
}

const NO_FACTS: AddressEnrichment = {};
