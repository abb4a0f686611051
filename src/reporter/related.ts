/** Whom an incident is about, beside its actor: what channel B alone is told. */
import type { LogActor } from '../contract/index.ts';
import { copyJson } from '../contract/json-value.ts';
import { SecurityEventError } from '../errors.ts';
import type { CompromisedAccount } from '../projection/incident.ts';
import { own } from './own.ts';

export interface Related {
  readonly ips: readonly LogActor['ip'][];
  readonly accounts: readonly CompromisedAccount[];
}

type Describe = (address: string) => LogActor['ip'] | undefined;

/**
 * The payload's own lists, copied; without `related_ips` the actor's address.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE`; its `path` begins with `payload`.
 */
export function relatedOf(
  payload: unknown,
  actor: LogActor | undefined,
  describe: Describe,
): Related {
  const { related_ips, compromised_accounts } = own(payload as Record<string, unknown>);
  const ips = listOf('related_ips', related_ips)?.map((ip, index) => facts(ip, index, describe));
  const accounts = listOf('compromised_accounts', compromised_accounts) ?? [];
  return {
    ips: ips ?? (actor === undefined ? [] : [actor.ip]),
    // Checked with the message.
    accounts: accounts as unknown as CompromisedAccount[],
  };
}

function listOf(name: string, given: unknown): unknown[] | undefined {
  if (given === undefined) return undefined;
  const copy = copyJson(given);
  if (!copy.ok) throw invalid(copy.message, [name, ...copy.path]);
  if (!Array.isArray(copy.value)) throw invalid('expected a list', [name]);
  return copy.value;
}

function facts(ip: unknown, index: number, describe: Describe): LogActor['ip'] {
  const known = typeof ip === 'string' ? describe(ip) : ip;
  const isWhole = typeof known === 'object' && known !== null && 'metadata' in known;
  if (isWhole) return known as LogActor['ip'];
  throw invalid('expected an IP address, or the facts of one', ['related_ips', index]);
}

function invalid(message: string, path: readonly PropertyKey[]): SecurityEventError {
  const issues = [{ path: ['payload', ...path], message }];
  return new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}
