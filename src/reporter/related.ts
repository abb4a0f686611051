/** The related addresses and compromised accounts of an incident, which only its message carries. */
import { normaliseAddress } from '../address/normalise.ts';
import { EVENT_VERSION, type LogActor, type LogRecord } from '../contract/index.ts';
import { copyJson } from '../contract/json-value.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import type { CompromisedAccount } from '../projection/event-messages.ts';
import { RecordValidator } from './validate-record.ts';

export interface Related {
  readonly ips: readonly LogActor['ip'][];
  readonly accounts: readonly CompromisedAccount[];
}

type Describe = (address: string) => LogActor['ip'] | undefined;

/** Copies the lists of a payload, with normalised addresses. Default of `related_ips`: the actor's address. */
export class RelatedReader {
  readonly #describe: Describe;
  /** Channel B accepts IPv6 in every dialect. */
  readonly #validator = new RecordValidator('open');

  constructor(describe: Describe) {
    this.#describe = describe;
  }

  /** @throws SecurityEventError `ERR_INVALID_MESSAGE`; its `path` begins with `payload`. */
  read(payload: unknown, actor: LogActor | undefined): Related {
    const { related_ips, compromised_accounts } = ownProperties(payload as Record<string, unknown>);
    const ips = listOf('related_ips', related_ips)?.map((ip, index) => this.#ip(ip, index));
    const accounts = listOf('compromised_accounts', compromised_accounts) ?? [];
    return {
      ips: ips ?? (actor === undefined ? [] : [normalised(actor.ip)]),
      // Validated with the message.
      accounts: accounts as unknown as CompromisedAccount[],
    };
  }

  #ip(given: unknown, index: number): LogActor['ip'] {
    const at = ['related_ips', index];
    if (typeof given === 'object' && given !== null) return normalised(this.#facts(given, at));
    const known = typeof given === 'string' ? this.#describe(given) : undefined;
    if (known !== undefined) return known;
    throw invalid(at, [{ path: [], message: 'expected an IP address, or the facts of one' }]);
  }

  /** Validates the facts as those of a record's actor. */
  #facts(given: object, at: readonly PropertyKey[]): LogActor['ip'] {
    try {
      const { context } = this.#validator.validate(recordOf(given)).record as unknown as LogRecord;
      return (context.actor as LogActor).ip;
    } catch (error) {
      if (!(error instanceof SecurityEventError)) throw error;
      const found = error.issues.map(({ path, message }) => ({
        path: path.slice(IP_LEVEL),
        message,
      }));
      throw invalid(at, found);
    }
  }
}

/** A minimal record with this address. */
const recordOf = (ip: unknown) => ({
  context: {
    actor: { identifiers: null, ip, svc_identifier: null },
    service: { env: '', name: '', svc_id: '' },
  },
  detected_at: '1970-01-01T00:00:00Z',
  event_name: 'svc.ev0.user_event.login',
  event_version: EVENT_VERSION,
  payload: { success: true },
});

const IP_LEVEL = ['context', 'actor', 'ip'].length;

function normalised(ip: LogActor['ip']): LogActor['ip'] {
  const address = normaliseAddress(ip.address) ?? ip.address;
  const version = address.includes(':') ? 6 : 4;
  return { ...ip, address, metadata: { ...ip.metadata, version } };
}

/** Names that identify each address and account within an incident. */
export interface RelatedNames {
  readonly addresses: readonly string[];
  readonly accounts: readonly string[];
}

export const namesOf = ({ ips, accounts }: Related): RelatedNames => ({
  addresses: ips.map(({ address }) => address),
  accounts: accounts.map(nameOfAccount),
});

export const nameOfAccount = (account: unknown): string => JSON.stringify(account);

/** Returns the names in the caller's own message, which is validated later. */
export function namesIn(message: object): RelatedNames {
  const { new_related_ips: ips, new_compromised_accounts: accounts } =
    ownProperties<IncidentLists>(message);
  const addresses = Array.isArray(ips)
    ? ips.map((ip) => ownProperties<{ address?: unknown }>(ip).address)
    : [];
  return {
    addresses: addresses.filter(isText).map((text) => normaliseAddress(text) ?? text),
    accounts: Array.isArray(accounts) ? accounts.map(nameOfAccount) : [],
  };
}

interface IncidentLists {
  readonly new_related_ips?: unknown;
  readonly new_compromised_accounts?: unknown;
}

const isText = (value: unknown): value is string => typeof value === 'string';

function listOf(name: string, given: unknown): unknown[] | undefined {
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
