/** The related addresses and compromised accounts of an incident, which only its message carries. */

import { normaliseAddress } from '../address/normalise.ts';
import { describeAddress } from '../capture/enrichment/describe-address.ts';
import type { Enrichment } from '../capture/enrichment/enrichers.ts';
import { addressFacts } from '../contract/context.ts';
import { isObject } from '../contract/dispatch.ts';
import type { LogActor } from '../contract/index.ts';
import { copyJson } from '../contract/json-value.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import type { CompromisedAccount } from '../projection/event-messages.ts';
import { withNormalAddress } from './event-context.ts';

export interface Related {
  readonly ips: readonly LogActor['ip'][];
  readonly accounts: readonly CompromisedAccount[];
}

/**
 * Copies the lists of a payload, each address and account once, with normalised addresses. Without
 * `related_ips`, the list has the actor's address.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE`; its `path` begins with `payload`.
 */
export function readRelated(
  payload: unknown,
  actor: LogActor | undefined,
  enrichment: Enrichment | undefined,
): Related {
  const { related_ips, compromised_accounts } = ownProperties(payload as Record<string, unknown>);
  const given = readList('related_ips', related_ips)?.map((ip, index) => {
    const at = ['related_ips', index];
    if (isObject(ip)) return withNormalAddress(checkedFacts(ip, at));
    const facts = typeof ip === 'string' ? describeAddress(ip, { enrichment }) : undefined;
    if (facts !== undefined) return facts;
    throw invalid(at, [{ path: [], message: 'expected an IP address, or the facts of one' }]);
  });
  const ips = given ?? (actor === undefined ? [] : [withNormalAddress(actor.ip)]);
  // The accounts are validated with the message.
  const accounts = readList('compromised_accounts', compromised_accounts) as
    | CompromisedAccount[]
    | undefined;
  return {
    ips: distinct(ips, ({ address }) => address),
    accounts: distinct(accounts ?? [], accountKey),
  };
}

/** Validates the facts like those of a record's actor, in the open dialect: channel B always accepts IPv6. */
function checkedFacts(given: object, at: readonly PropertyKey[]): LogActor['ip'] {
  const { data, error } = addressFacts.safeParse(given);
  if (data !== undefined) return data;
  throw invalid(at, error.issues);
}

/** Texts that identify the addresses and accounts of an incident. */
export interface RelatedKeys {
  readonly addresses: readonly string[];
  readonly accounts: readonly string[];
}

export const keysOf = ({ ips, accounts }: Related): RelatedKeys => ({
  addresses: ips.map(({ address }) => address),
  accounts: accounts.map(accountKey),
});

/** Equal for accounts with the same keys in another order. */
export const accountKey = (account: unknown): string => JSON.stringify(withSortedKeys(account));

function withSortedKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withSortedKeys);
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, part]) => [key, withSortedKeys(part)]));
}

/** Returns the keys in the caller's own message, which is validated later. */
export function keysInMessage(message: object): RelatedKeys {
  const { new_related_ips: ips, new_compromised_accounts: accounts } =
    ownProperties<IncidentLists>(message);
  const addresses = Array.isArray(ips)
    ? ips.map((ip) => ownProperties<{ address?: unknown }>(ip).address)
    : [];
  return {
    addresses: addresses.filter(isText).map((text) => normaliseAddress(text) ?? text),
    accounts: Array.isArray(accounts) ? accounts.map(accountKey) : [],
  };
}

interface IncidentLists {
  readonly new_related_ips?: unknown;
  readonly new_compromised_accounts?: unknown;
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** Keeps the first item with each key. */
function distinct<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const keys = new Set<string>();
  return items.filter((item) => {
    const { size } = keys;
    return keys.add(keyOf(item)).size > size;
  });
}

function readList(name: string, given: unknown): unknown[] | undefined {
  if (given === undefined) return undefined;
  const copy = copyJson(given);
  if (!copy.ok) throw invalid([name], [copy]);
  if (Array.isArray(copy.value)) return copy.value;
  throw invalid([name], [{ path: [], message: 'expected a list' }]);
}

function invalid(at: readonly PropertyKey[], found: readonly InputIssue[]): SecurityEventError {
  const issues = found.map(({ path, message }) => ({ path: ['payload', ...at, ...path], message }));
  return new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}
