/** A channel-A address as the messages of channel B tell it (D28, D29). */

import type { LogActor, WebhookMessageV2 } from '../contract/index.ts';

type ActorIp = LogActor['ip'];
type Message<T extends WebhookMessageV2['message_type']> = Extract<
  WebhookMessageV2,
  { readonly message_type: T }
>['message'];

export type ResolvedIp = Message<'security_event'>['ips'][number];
export type RelatedIp = Message<'account_takeover'>['new_related_ips'][number];

/** D12 has `{}` or all four; D28 the place as `[longitude, latitude]`. */
function toldGeo(geo: ActorIp['geo']): ResolvedIp['geo'] {
  // What an attack put on Object.prototype is no place.
  if (!Object.hasOwn(geo, 'city') || !Object.hasOwn(geo, 'country_code')) return {};
  const { city, country_code: code, latitude, longitude } = geo;
  if (city === undefined || code === undefined) return {};
  return { city, code, point: [longitude ?? 0, latitude ?? 0] };
}

export function resolvedIp({ address, geo, metadata }: ActorIp, resolvedAt: string): ResolvedIp {
  return { address, date_resolved: resolvedAt, geo: toldGeo(geo), is_tor: metadata.tor };
}

export function relatedIp({ address, geo, metadata }: ActorIp, resolvedAt: string): RelatedIp {
  const { version, multicast, global, unspecified, reserved, loopback } = metadata;
  return {
    address,
    date_resolved: resolvedAt,
    geo: toldGeo(geo),
    is_tor: metadata.tor,
    vpn: metadata.vpn,
    proxy: metadata.proxy,
    datacenter: metadata.datacenter !== null,
    metadata: {
      version,
      multicast,
      private: metadata.private,
      global,
      unspecified,
      reserved,
      loopback,
    },
    tags: [],
  };
}

/** The whole address and nothing beside it: `203.0.113.9/32`, `2001:db8::7/128`. */
export const cidrOf = ({ address }: Pick<ActorIp, 'address'>): string =>
  `${address}/${address.includes(':') ? 128 : 32}`;
