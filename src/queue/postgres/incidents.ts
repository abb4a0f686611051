import type { IncidentNews, IncidentReport, IncidentStore } from '../../incident/incident-store.ts';
import type { Database } from './database.ts';
import { fromText, toText } from './words.ts';

/** How long an incident is known since it was last told of. */
const KEPT_MS = 30 * 86_400_000;

const TELL_TYPES = [
  'text',
  'text',
  'text',
  'double precision',
  'text[]',
  'text[]',
  'double precision',
];

const RETRACT_TYPES = ['text', 'text', 'text', 'boolean', 'text[]', 'text[]'];

/** Resolves to the database, once there is a connection. */
export type Reach = <T>(work: (database: Database) => Promise<T>) => Promise<T>;

/** What was told of incidents by whichever process. */
export class PostgresIncidents implements IncidentStore {
  readonly #reach: Reach;

  constructor(reach: Reach) {
    this.#reach = reach;
  }

  async tell(report: IncidentReport): Promise<IncidentNews> {
    const { applicationId, incidentId, channel, at, addresses, accounts } = report;
    const row = await this.#reach((database) =>
      database.one('tell', TELL_TYPES, [
        toText(applicationId),
        toText(incidentId),
        channel,
        at,
        addresses.map(toText),
        accounts.map(toText),
        KEPT_MS,
      ]),
    );
    return {
      isFirst: row['is_first'] === true,
      startedAt: Number(row['began_at']),
      newAddresses: (row['new_addresses'] as string[]).map(fromText),
      newAccounts: (row['new_accounts'] as string[]).map(fromText),
    };
  }

  async retract(report: IncidentReport, news: IncidentNews): Promise<void> {
    const { applicationId, incidentId, channel } = report;
    const { isFirst, newAddresses, newAccounts } = news;
    await this.#reach((database) =>
      database.call('retract', RETRACT_TYPES, [
        toText(applicationId),
        toText(incidentId),
        channel,
        isFirst,
        newAddresses.map(toText),
        newAccounts.map(toText),
      ]),
    );
  }
}
