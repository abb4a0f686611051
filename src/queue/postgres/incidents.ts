import { SecurityEventError } from '../../errors.ts';
import {
  digestOf,
  INCIDENT_LIMITS,
  type IncidentChanges,
  type IncidentReport,
  type IncidentStore,
} from '../../incident/incident-store.ts';
import { Database } from './database.ts';
import type { ReadOptions } from './options.ts';
import type { ServersParts } from './servers.ts';

interface ReportAnswer {
  readonly isFirst: boolean;
  readonly startedAt: number;
  readonly names: readonly string[];
}

/** Stores the incidents that all processes reported. Connects with the first call. */
export class PostgresIncidents implements IncidentStore {
  readonly #database: Database;
  #isClosed = false;

  constructor(options: ReadOptions, parts: ServersParts) {
    this.#database = new Database(options, parts);
  }

  async record(report: IncidentReport): Promise<IncidentChanges> {
    const { at, addresses, accounts } = report;
    const names = namesOf(addresses, accounts);
    const { default: retentionMs } = INCIDENT_LIMITS.retentionMs;
    const args = { ...keyOf(report), at, names, retentionMs };
    const answer = (await this.#call('report_incident', args)) as ReportAnswer;
    const added = new Set(answer.names);
    const newOf = (kind: Kind, all: readonly string[]): string[] =>
      [...new Set(all)].filter((name) => added.has(nameOf(kind, name)));
    return {
      isFirst: answer.isFirst,
      startedAt: answer.startedAt,
      newAddresses: newOf('ip', addresses),
      newAccounts: newOf('account', accounts),
    };
  }

  async retract(report: IncidentReport, changes: IncidentChanges): Promise<void> {
    const { isFirst, startedAt, newAddresses, newAccounts } = changes;
    const names = namesOf(newAddresses, newAccounts);
    await this.#call('retract_incident', { ...keyOf(report), isFirst, startedAt, names });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#database.end();
  }

  async #call(name: string, args: object): Promise<unknown> {
    if (this.#isClosed) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    return await this.#database.call(name, args);
  }
}

type Kind = 'ip' | 'account';

const nameOf = (...parts: [Kind, string]): string => digestOf(parts).toString('base64');

const namesOf = (addresses: readonly string[], accounts: readonly string[]): string[] => [
  ...addresses.map((name) => nameOf('ip', name)),
  ...accounts.map((name) => nameOf('account', name)),
];

const keyOf = ({ applicationId, incidentId, channel }: IncidentReport) => ({
  key: digestOf([applicationId, incidentId]).toString('base64'),
  channel,
});
