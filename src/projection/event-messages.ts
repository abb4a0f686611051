/** Builds messages of format v2 from the data of a record (D46 to D50). */
import type { LogActor, WebhookMessageV2 } from '../contract/index.ts';
import type { Incident } from './pulse.ts';
import type { EventWords } from './vocabulary-map.ts';

export type SecurityEvent = Extract<
  WebhookMessageV2,
  { readonly message_type: 'security_event' }
>['message'];

/** The service of a record. On channel B its id, name and environment are the application's. */
export interface Service {
  readonly svc_id: string;
  readonly name: string;
  readonly env: string;
}

export interface SecurityEventSource {
  readonly service: Service;
  readonly words: EventWords;
  /** Address of the actor, if it is known. */
  readonly ip: LogActor['ip'] | undefined;
  /** In channel B's format. */
  readonly occurredAt: string;
  readonly id: string;
  /** Absolute. */
  readonly url: string;
  /** The caller's rating, if there is one. */
  readonly riskCoefficient?: number | undefined;
}

export function securityEvent(source: SecurityEventSource): SecurityEvent {
  const { service, words, ip, occurredAt, id, url, riskCoefficient } = source;
  return {
    application_id: service.svc_id,
    application_name: service.name,
    environment: service.env,
    date_occurred: occurredAt,
    event_category: words.category,
    event_id: id,
    event_kind: words.kind,
    event_url: url,
    humanized_description: ip === undefined ? words.title : `${words.title} from ${ip.address}`,
    ips: ip === undefined ? [] : [resolvedIp(ip, occurredAt)],
    ...(riskCoefficient === undefined ? {} : { risk_coefficient: riskCoefficient }),
  };
}

export type SecurityResponse = Extract<
  WebhookMessageV2,
  { readonly message_type: 'security_response' }
>['message'];

export interface SecurityResponseSource {
  readonly service: Service;
  readonly playbook: { readonly name: string; readonly playbook_slug: string };
  /** The actor to whom the playbook responded, if known. */
  readonly actor: LogActor | undefined;
}

export function securityResponse({
  service,
  playbook,
  actor,
}: SecurityResponseSource): SecurityResponse {
  const { identifiers } = actor ?? { identifiers: null };
  // Validation of the record reports a text or a list.
  const isKnown =
    typeof identifiers === 'object' && identifiers !== null && !Array.isArray(identifiers);
  return {
    application: { name: service.name, environment: service.env, id: service.svc_id },
    properties: {
      ips: actor === undefined ? [] : [{ ip_cidr: cidrOf(actor.ip) }],
      user_identifiers: isKnown ? [{ ...identifiers }] : [],
    },
    playbook: { name: playbook.name, id: playbook.playbook_slug },
  };
}

/** An account that an account takeover has compromised. */
export type CompromisedAccount = NonNullable<Incident['new_compromised_accounts']>[number];

export interface IncidentSource {
  readonly applicationId: string;
  readonly incidentId: string;
  readonly status: Incident['incident_status'];
  /** Times are in channel B's format. */
  readonly startedAt: string;
  readonly updatedAt: string;
  /** Addresses that no earlier message of this incident carried. */
  readonly newIps: readonly LogActor['ip'][];
  readonly newAccounts: readonly CompromisedAccount[];
  /** Only account takeovers list accounts. */
  readonly messageType: string;
}

export function incidentMessage(source: IncidentSource): Incident {
  const { newIps, newAccounts, updatedAt, messageType } = source;
  const hasAccounts = messageType === 'account_takeover' && newAccounts.length > 0;
  return {
    incident_thread: source.incidentId,
    incident_status: source.status,
    date_started: source.startedAt,
    date_last_updated: updatedAt,
    application_id: source.applicationId,
    new_related_ips: newIps.map((ip) => relatedIp(ip, updatedAt)),
    ...(hasAccounts ? { new_compromised_accounts: [...newAccounts] } : {}),
  };
}

type ActorIp = LogActor['ip'];
type Message<T extends WebhookMessageV2['message_type']> = Extract<
  WebhookMessageV2,
  { readonly message_type: T }
>['message'];

export type ResolvedIp = Message<'security_event'>['ips'][number];
export type RelatedIp = Message<'account_takeover'>['new_related_ips'][number];

/** A record's `geo` is empty or complete; a message has the point as `[longitude, latitude]`. */
function messageGeo(geo: ActorIp['geo']): ResolvedIp['geo'] {
  // Ignores keys of a polluted prototype.
  if (!Object.hasOwn(geo, 'city') || !Object.hasOwn(geo, 'country_code')) return {};
  const { city, country_code: code, latitude, longitude } = geo;
  if (city === undefined || code === undefined) return {};
  return { city, code, point: [longitude ?? 0, latitude ?? 0] };
}

function resolvedIp({ address, geo, metadata }: ActorIp, resolvedAt: string): ResolvedIp {
  return { address, date_resolved: resolvedAt, geo: messageGeo(geo), is_tor: metadata.tor };
}

function relatedIp({ address, geo, metadata }: ActorIp, resolvedAt: string): RelatedIp {
  const { version, multicast, global, unspecified, reserved, loopback } = metadata;
  return {
    address,
    date_resolved: resolvedAt,
    geo: messageGeo(geo),
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

/** The CIDR of this one address: `203.0.113.9/32`, `2001:db8::7/128`. */
const cidrOf = ({ address }: Pick<ActorIp, 'address'>): string =>
  `${address}/${address.includes(':') ? 128 : 32}`;
