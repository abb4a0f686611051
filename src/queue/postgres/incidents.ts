import { SecurityEventError } from '../../errors.ts';
import type {
  IncidentChanges,
  IncidentReport,
  IncidentStore,
} from '../../incident/incident-store.ts';
import { type Database, openDatabase } from './database.ts';
import { fromEscaped, toEscaped } from './escaped-text.ts';
import type { ReadOptions } from './options.ts';
import type { Surroundings } from './servers.ts';

/** How long an incident is known after its last report. */
const KEPT_MS = 30 * 86_400_000;

interface ReportAnswer {
  readonly isFirst: boolean;
  readonly startedAt: number;
  readonly addresses: readonly string[];
  readonly accounts: readonly string[];
}

/** What was reported of incidents by all processes. Connects with the first call. */
export class PostgresIncidents implements IncidentStore {
  readonly #options: ReadOptions;
  readonly #surroundings: Surroundings;
  #opening: Promise<Database> | undefined;
  #isClosed = false;

  constructor(options: ReadOptions, surroundings: Surroundings) {
    this.#options = options;
    this.#surroundings = surroundings;
  }

  async record(report: IncidentReport): Promise<IncidentChanges> {
    const { at, addresses, accounts } = report;
    const database = await this.#database();
    const answer = await database.call('report_incident', {
      ...keyOf(report),
      at,
      addresses: addresses.map(toEscaped),
      accounts: accounts.map(toEscaped),
      keptMs: KEPT_MS,
    });
    const news = answer as ReportAnswer;
    return {
      isFirst: news.isFirst,
      startedAt: news.startedAt,
      newAddresses: news.addresses.map(fromEscaped),
      newAccounts: news.accounts.map(fromEscaped),
    };
  }

  async retract(report: IncidentReport, news: IncidentChanges): Promise<void> {
    const { isFirst, newAddresses, newAccounts } = news;
    const database = await this.#database();
    await database.call('retract_incident', {
      ...keyOf(report),
      isFirst,
      addresses: newAddresses.map(toEscaped),
      accounts: newAccounts.map(toEscaped),
    });
  }

  /** Ends the connections that are its own. Later calls reject with `ERR_QUEUE_CLOSED`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const database = await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    await database?.end();
  }

  async #database(): Promise<Database> {
    if (this.#isClosed) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    this.#opening ??= openDatabase(this.#options, this.#surroundings);
    try {
      return await this.#opening;
    } catch (error) {
      // The next call tries again.
      this.#opening = undefined;
      throw error;
    }
  }
}

const keyOf = ({ applicationId, incidentId, channel }: IncidentReport) => ({
  application: toEscaped(applicationId),
  incident: toEscaped(incidentId),
  channel,
});
