import { SecurityEventError } from '../../errors.ts';
import type {
  IncidentChanges,
  IncidentReport,
  IncidentStore,
} from '../../incident/incident-store.ts';
import { type FileHandle, type SharedFile, sharedFile, type WallClock } from './shared-file.ts';
import type { IncidentSettings } from './sqlite-options.ts';

/** An incident store in a file. Two first reports at the same time create one incident. */
export interface SqliteIncidentStore extends IncidentStore {
  record(report: IncidentReport): Promise<IncidentChanges>;
  retract(report: IncidentReport, changes: IncidentChanges): Promise<void>;
  /** Closes the file unless a queue or another store uses it. Later calls reject with `ERR_QUEUE_CLOSED`. */
  close(): Promise<void>;
}

export class SqliteIncidents implements SqliteIncidentStore {
  readonly #settings: IncidentSettings;
  readonly #handle: FileHandle;
  #file: SharedFile | undefined;
  #isClosed = false;

  constructor(settings: IncidentSettings, clock?: WallClock) {
    this.#settings = settings;
    this.#handle = { clock, settings: null };
  }

  async record(report: IncidentReport): Promise<IncidentChanges> {
    const { limits } = this.#settings;
    return await this.#opened().call(this.#handle, 'recordIncident', { args: [report, limits] });
  }

  async retract(report: IncidentReport, changes: IncidentChanges): Promise<void> {
    await this.#opened().call(this.#handle, 'retractIncident', { args: [report, changes] });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#file?.remove(this.#handle);
  }

  #opened(): SharedFile {
    if (this.#isClosed) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    if (this.#file === undefined) {
      this.#file = sharedFile(this.#settings.file);
      this.#file.add(this.#handle);
    }
    return this.#file;
  }
}
