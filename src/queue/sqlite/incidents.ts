import { SecurityEventError } from '../../errors.ts';
import type {
  IncidentChanges,
  IncidentReport,
  IncidentStore,
} from '../../incident/incident-store.ts';
import { type FileListener, type SharedFile, sharedFile } from './shared-file.ts';
import type { WallClock } from './sqlite-queue.ts';
import type { IncidentLimits } from './worker/incidents.ts';
import type { Operation, Operations } from './worker/operations.ts';

/** An incident store in a file. Two first reports at the same time create one incident. */
export interface SqliteIncidentStore extends IncidentStore {
  record(report: IncidentReport): Promise<IncidentChanges>;
  retract(report: IncidentReport, news: IncidentChanges): Promise<void>;
  /** Closes the file unless a queue has it open. Later calls reject with `ERR_QUEUE_CLOSED`. */
  close(): Promise<void>;
}

export interface IncidentSettings {
  readonly file: string;
  readonly limits: IncidentLimits;
}

export class SqliteIncidents implements SqliteIncidentStore {
  readonly #settings: IncidentSettings;
  readonly #clock: WallClock | undefined;
  readonly #listener: FileListener = {
    sync: false,
    watches: () => false,
    onDue: () => {},
    onDamage: () => {},
  };
  #file: SharedFile | undefined;
  #isClosed = false;

  constructor(settings: IncidentSettings, clock?: WallClock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  async record(report: IncidentReport): Promise<IncidentChanges> {
    return await this.#call('tellIncident', [copyOf(report), this.#settings.limits]);
  }

  async retract(report: IncidentReport, news: IncidentChanges): Promise<void> {
    const { isFirst, startedAt, newAddresses, newAccounts } = news;
    const names = { newAddresses: [...newAddresses], newAccounts: [...newAccounts] };
    await this.#call('retractIncident', [copyOf(report), { isFirst, startedAt, ...names }]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#file?.remove(this.#listener);
  }

  #call<Name extends Operation>(
    operation: Name,
    args: Operations[Name][0],
  ): Promise<Operations[Name][1]> {
    if (this.#isClosed) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    if (this.#file === undefined) {
      this.#file = sharedFile(this.#settings.file);
      this.#file.add(this.#listener);
    }
    const nowMs = this.#clock?.now() ?? null;
    return this.#file.call(operation, args, { nowMs, settings: null, bodies: [] });
  }
}

const copyOf = (report: IncidentReport): IncidentReport => {
  const { applicationId, incidentId, channel, at, addresses, accounts } = report;
  const names = { addresses: [...addresses], accounts: [...accounts] };
  return { applicationId, incidentId, channel, at, ...names };
};
