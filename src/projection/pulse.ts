/** Converts an incident to a pulse of format 1. The caller's hints override the derived fields. */
import {
  type Contract,
  contract,
  type Dialect,
  PULSE_GENRES,
  type WebhookMessageV2,
} from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { definedProperties, ownProperties } from '../own-properties.ts';

type MessageType = WebhookMessageV2['message_type'];
/** The content of a message of format 2. */
export type Content<T extends MessageType> = Extract<
  WebhookMessageV2,
  { message_type: T }
>['message'];

/** An incident of any type. The type is that of an account takeover, the only one that may list accounts. */
export type Incident = Content<'account_takeover'>;

/** An element of a request of format 1. */
export type ElementV1 = Contract<Dialect>['WebhookMessageV1']['_zod']['output'];
type Pulse = Extract<ElementV1, { svc_payload_type: 'pulse' }>;

/** The caller's fields of a pulse. Each was validated alone, not in combination. */
export type PulseHints = Readonly<Record<string, unknown>>;

export interface PulseContext {
  /** From the settings: an incident of v2 does not name it, a pulse does. */
  readonly application: { readonly name: string; readonly environment: string };
  /** The dialect in which the message was validated. */
  readonly dialect: Dialect;
}

export interface PulseSource {
  readonly incident: Incident;
  readonly genre: string;
  readonly hints: PulseHints;
}

const TITLES = {
  vulnerable_packages: 'Vulnerable packages',
  injection_eval: 'Code injection',
  http_4xx_peak: 'Peak of HTTP 4xx responses',
  http_5xx_peak: 'Peak of HTTP 5xx responses',
  injection_lfi: 'Local file inclusion',
  injection_nosql: 'NoSQL injection',
  injection_sql: 'SQL injection',
  injection_shell: 'Shell injection',
  injection_shellshock: 'Shellshock injection',
  injection_xss: 'Cross-site scripting',
  http_scan: 'HTTP scan',
  failed_auth_peak: 'Peak of failed logins',
  account_enumeration: 'Account enumeration',
  user_risk_increased: 'User risk increased',
  account_takeover_success: 'Successful account takeover',
  account_enumeration_success: 'Successful account enumeration',
  account_takeover: 'Account takeover',
  account_enumeration_real_accounts: 'Enumeration of real accounts',
} as const satisfies Record<(typeof PULSE_GENRES)[number], string>;

const TITLE_BY_GENRE: ReadonlyMap<string, string> = new Map(Object.entries(TITLES));

/** Maximum names in a text: an incident may have thousands of addresses and accounts. */
const MAX_NAMED = 5;

/** Returns the hints that are own keys and not undefined. */
export const pulseHints = (given: object = {}): PulseHints =>
  ownProperties<Record<string, unknown>>(definedProperties({ ...given }));

/** Returns the genre that the caller named, or the one with the name of the message type, or undefined. */
export function pulseGenre(messageType: string, hints: PulseHints): string | undefined {
  const { pulse_genre: genre } = hints;
  return genre === undefined ? PULSE_GENRES.find((it) => it === messageType) : textOf(genre);
}

/** Returns the hint if it is a string, or else ''. Validation of the pulse reports a hint of another type. */
function textOf(hint: unknown): string {
  return typeof hint === 'string' ? hint : '';
}

/** @throws SecurityEventError `ERR_INVALID_MESSAGE` if a hint makes it invalid; its `path` is `['v1', field]`. */
export function pulse(
  { incident, genre, hints }: PulseSource,
  { application, dialect }: PulseContext,
): Pulse {
  const id = hints['id'] === undefined ? incident.incident_thread : textOf(hints['id']);
  const { new_compromised_accounts: accounts = [] } = ownProperties(incident);
  const ips = incident.new_related_ips;
  const derived: Pulse = {
    svc_payload_type: 'pulse',
    pulse_genre: genre,
    pulse_category: null,
    date_started: incident.date_started,
    date_ended: null,
    humanized_title: title(genre, ips, accounts.length),
    humanized_accounts: listNames(accounts.flatMap(identifier), ', '),
    humanized_geos: listNames(ips.flatMap(place), '; '),
    blocked: false,
    application_id: incident.application_id,
    application_name: application.name,
    environment: application.environment,
    id,
    url: `urn:uuid:${id}`,
    incidents_count: 1,
    user_agents_count: 0,
    ip_addresses_count: ips.length,
    accounts_count: accounts.length,
  };
  return Object.keys(hints).length === 0
    ? derived
    : validatePulse({ ...derived, ...hints }, dialect);
}

/** Only a hint can make a pulse invalid. */
function validatePulse(element: Pulse, dialect: Dialect): Pulse {
  const result = contract({ dialect }).WebhookMessageV1.safeParse(element);
  if (result.success) return element;
  const issues = result.error.issues.map(({ path, message }) => ({
    path: ['v1', ...path],
    message,
  }));
  throw new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}

type Ips = Incident['new_related_ips'];
type Accounts = NonNullable<Incident['new_compromised_accounts']>;

/** `SQL injection from 203.0.113.9`, `Account takeover on 2 accounts from 3 IP addresses`. */
function title(genre: string, ips: Ips, accountCount: number): string {
  // The open dialect allows other genres, which have no title.
  const what = TITLE_BY_GENRE.get(genre) ?? genre.replaceAll('_', ' ');
  const on =
    accountCount === 0 ? '' : ` on ${accountCount} account${accountCount === 1 ? '' : 's'}`;
  const [first, second] = ips;
  if (first === undefined) return `${what}${on}`;
  return `${what}${on} from ${second === undefined ? first.address : `${ips.length} IP addresses`}`;
}

/** Returns the account's first identifier that is a non-empty text or a number. */
function identifier({ user_identifiers: identifiers }: Accounts[number]): string[] {
  return Object.values(identifiers)
    .flatMap((value) => (typeof value === 'string' || typeof value === 'number' ? `${value}` : []))
    .filter((text) => text !== '')
    .slice(0, 1);
}

/** `Lyon, FRA`, or the country alone. */
function place({ geo }: Ips[number]): string[] {
  const { city, code } = ownProperties<{ city?: string | undefined; code?: string | undefined }>(
    geo,
  );
  const parts = [city, code].filter((part) => part !== undefined && part !== '');
  return parts.length === 0 ? [] : [parts.join(', ')];
}

/** Lists distinct texts. Returns null if there are none. */
function listNames(texts: readonly string[], separator: string): string | null {
  const distinct = [...new Set(texts)];
  if (distinct.length === 0) return null;
  const more = distinct.length - MAX_NAMED;
  const list = distinct.slice(0, MAX_NAMED).join(separator);
  return more > 0 ? `${list} and ${more} more` : list;
}
