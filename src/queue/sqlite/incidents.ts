import { SecurityEventError } from '../../errors.ts';
import type {
  IncidentChanges,
  IncidentLimits,
  IncidentReport,
  IncidentStore,
} from '../../incident/incident-store.ts';
import { type FileListener, type SharedFile, sharedFile } from './shared-file.ts';
import type { WallClock } from './sqlite-queue.ts';
import type { Operation, Operations } from './worker/operations.ts';

/** An incident store in a file. Two first reports at the same time create one incident. */
export interface SqliteIncidentStore extends IncidentStore {
  record(report: IncidentReport): Promise<IncidentChanges>;
  retract(report: IncidentReport, changes: IncidentChanges): Promise<void>;
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
  readonly #listener: FileListener = {};
  #file: SharedFile | undefined;
  #isClosed = false;

  constructor(settings: IncidentSettings, clock?: WallClock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  async record(report: IncidentReport): Promise<IncidentChanges> {
    return await this.#call('recordIncident', [report, this.#settings.limits]);
  }

  async retract(report: IncidentReport, changes: IncidentChanges): Promise<void> {
    await this.#call('retractIncident', [report, changes]);
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
