import { SecurityEventError } from '../../errors.ts';
import type { IncidentNews, IncidentReport, IncidentStore } from '../../incident/incident-store.ts';
import type { Database } from './database.ts';
import type { LoadPg } from './load-pg.ts';
import type { ReadOptions } from './postgres-options.ts';
import { type OpenedDatabase, opened } from './schema.ts';
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

/** What was told of incidents by whichever process. It connects with the first call. */
export class PostgresIncidents implements IncidentStore {
  readonly #options: ReadOptions;
  readonly #load: LoadPg;
  #opening: Promise<OpenedDatabase> | undefined;
  #isClosed = false;

  constructor(options: ReadOptions, load: LoadPg) {
    this.#options = options;
    this.#load = load;
  }

  async tell(report: IncidentReport): Promise<IncidentNews> {
    const { applicationId, incidentId, channel, at, addresses, accounts } = report;
    const database = await this.#database();
    const row = await database.one('tell', TELL_TYPES, [
      toText(applicationId),
      toText(incidentId),
      channel,
      at,
      addresses.map(toText),
      accounts.map(toText),
      KEPT_MS,
    ]);
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
    const database = await this.#database();
    await database.call('retract', RETRACT_TYPES, [
      toText(applicationId),
      toText(incidentId),
      channel,
      isFirst,
      newAddresses.map(toText),
      newAccounts.map(toText),
    ]);
  }

  /** Ends the connections that are its own. Later calls reject with `ERR_QUEUE_CLOSED`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const opening = await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    await opening?.database.end();
  }

  async #database(): Promise<Database> {
    if (this.#isClosed) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    this.#opening ??= opened(this.#options, this.#load);
    try {
      return (await this.#opening).database;
    } catch (error) {
      // The next call tries again.
      this.#opening = undefined;
      throw error;
    }
  }
}
