/** Builds the content of the message of an attack, exploit, incident or playbook (D46 to D50). */
import type { LogActor } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { Content, Incident } from './pulse.ts';
import type { EventTerms } from './vocabulary-map.ts';

export type SecurityEvent = Content<'security_event'>;
export type SecurityResponse = Content<'security_response'>;
type ActorIp = LogActor['ip'];
export type ResolvedIp = SecurityEvent['ips'][number];
export type RelatedIp = Incident['new_related_ips'][number];

/** The service of a record. On channel B its id, name and environment are the application's. */
export interface Service {
  readonly svc_id: string;
  readonly name: string;
  readonly env: string;
}

/** The data of a record from which a message is built. It may be invalid. */
export interface EventData {
  readonly service: Service;
  readonly payload: Readonly<Record<string, unknown>>;
  /** The actor, if the address is known. */
  readonly actor: LogActor | undefined;
  /** In channel B's format, such as `2025-01-31T12:00:00.000+00:00`. */
  readonly occurredAt: string;
}

/** Returns a required text. @throws SecurityEventError `ERR_INVALID_MESSAGE` */
export function requiredText({ payload }: EventData, key: string): string {
  const value = Object.hasOwn(payload, key) ? payload[key] : undefined;
  if (typeof value === 'string') return value;
  const issues = [{ path: ['payload', key], message: 'expected a string' }];
  throw new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}

export interface SecurityEventFields {
  readonly terms: EventTerms;
  readonly id: string;
  /** Absolute. */
  readonly url: string;
  /** The caller's rating, if there is one. */
  readonly riskCoefficient?: number | undefined;
}

export function securityEvent(
  { service, actor, occurredAt }: EventData,
  { terms, id, url, riskCoefficient }: SecurityEventFields,
): SecurityEvent {
  const ip = actor?.ip;
  const event: SecurityEvent = {
    application_id: service.svc_id,
    application_name: service.name,
    environment: service.env,
    date_occurred: occurredAt,
    event_category: terms.category,
    event_id: id,
    event_kind: terms.kind,
    event_url: url,
    humanized_description: ip === undefined ? terms.title : `${terms.title} from ${ip.address}`,
    ips: ip === undefined ? [] : [resolvedIp(ip, occurredAt)],
  };
  if (riskCoefficient !== undefined) event.risk_coefficient = riskCoefficient;
  return event;
}

/** Throws like {@link requiredText}. */
export function securityResponse(event: EventData): SecurityResponse {
  const { service, actor } = event;
  const playbook = {
    name: requiredText(event, 'name'),
    id: requiredText(event, 'playbook_slug'),
  };
  const { identifiers } = actor ?? { identifiers: null };
  // Others are left out here; validation of the record reports them.
  const isKnown =
    typeof identifiers === 'object' && identifiers !== null && !Array.isArray(identifiers);
  return {
    application: { name: service.name, environment: service.env, id: service.svc_id },
    properties: {
      ips: actor === undefined || isUnspecified(actor.ip) ? [] : [{ ip_cidr: cidrOf(actor.ip) }],
      user_identifiers: isKnown ? [{ ...identifiers }] : [],
    },
    playbook,
  };
}

/** An account that an account takeover has compromised. */
export type CompromisedAccount = NonNullable<Incident['new_compromised_accounts']>[number];

export interface IncidentFields {
  readonly messageType: string;
  readonly isCreated: boolean;
  /** In the same format as `occurredAt`. */
  readonly startedAt: string;
  /** Addresses and accounts that no earlier message of this incident carried. */
  readonly newIps: readonly ActorIp[];
  readonly newAccounts: readonly CompromisedAccount[];
}

/** Throws like {@link requiredText}. */
export function incidentMessage(event: EventData, fields: IncidentFields): Incident {
  const { service, occurredAt } = event;
  const { messageType, isCreated, startedAt, newIps, newAccounts } = fields;
  const hasAccounts = listsAccounts(messageType) && newAccounts.length > 0;
  return {
    incident_thread: requiredText(event, 'incident_id'),
    incident_status: isCreated ? 'created' : 'updated',
    date_started: startedAt,
    date_last_updated: occurredAt,
    application_id: service.svc_id,
    new_related_ips: newIps.map((ip) => relatedIp(ip, occurredAt)),
    ...(hasAccounts ? { new_compromised_accounts: [...newAccounts] } : {}),
  };
}

export const listsAccounts = (messageType: string): boolean => messageType === 'account_takeover';

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

function relatedIp(ip: ActorIp, resolvedAt: string): RelatedIp {
  const { metadata } = ip;
  const { version, multicast, global, unspecified, reserved, loopback } = metadata;
  return {
    ...resolvedIp(ip, resolvedAt),
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

/** Such an address is no client's, and nothing to block. */
const isUnspecified = ({ address, metadata }: ActorIp): boolean =>
  metadata.unspecified || address === '0.0.0.0' || address === '::';

/** The CIDR of this one address: `203.0.113.9/32`, `2001:db8::7/128`. */
const cidrOf = ({ address }: Pick<ActorIp, 'address'>): string =>
  `${address}/${address.includes(':') ? 128 : 32}`;
