/** The contract's `actor.ip` of an address (D12, D13, D14, D19). */

import { classifyAddress } from '../../address/classify.ts';
import { normaliseAddress } from '../../address/normalise.ts';
import { type Address, parseAddress } from '../../address/parse.ts';
import type { LogActor } from '../../contract/index.ts';
import { ownProperties } from '../../own-properties.ts';
import { ownText } from '../request/clean-text.ts';
import type { Enrichment } from './enrichers.ts';
import type { AddressEnrichment } from './enrichment.ts';

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
  options: DescribeAddressOptions = {},
): ActorIp | undefined {
  const { enrichment } = ownProperties(options);
  const normal = normaliseAddress(address);
  return normal === undefined ? undefined : describeNormal(normal, enrichment);
}

/** Of an address in D14's spelling. */
export function describeNormal(spelt: string, enrichment: Enrichment | undefined): ActorIp {
  // Enrichers keep addresses for hours.
  const normal = ownText(spelt);
  const { metadata } = classifyAddress(parseAddress(normal) as Address);
  const { geo, datacenter, proxy, tor, vpn } = ownProperties(
    enrichment?.factsOf(normal) ?? NO_FACTS,
  );
  return {
    address: normal,
    // Copies: what is cached for later events must not change with a record.
    geo: metadata.global && geo !== undefined ? { ...geo } : {},
    // Name by name: a spread with other names behind it takes V8 longer than all the rest.
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
