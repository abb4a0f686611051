/**
 * Caches the rows that nearly every call needs: the queue's state and its applications. They are read
 * again when another process has changed the file.
 */
import type { ApplicationState, Json, Tier } from '../../queue.ts';
import { type LostMessages, toWhole } from '../protocol.ts';
import type { Database } from './database.ts';
import type { Row, SqlValue } from './engine.ts';
import type { ApplicationRow, QueueStateRow } from './schema.ts';

/** A row of `application`: see schema.ts. */
export type Application = Omit<ApplicationRow, 'number' | 'id' | 'tier'> & {
  readonly number: number;
  readonly id: string;
  tier: Tier;
};

/** A row in memory, and its values in the file. */
interface Cached<T> {
  readonly row: T;
  readonly stored: T;
}

/** Above this number of applications the cache is emptied. */
const MAX_CACHED = 20_000;

/** A time that is further back means that the clock was set back; otherwise a call was only late. */
const CLOCK_TOLERANCE_MS = 1000;

export class Store {
  readonly database: Database;
  /** Messages whose row was damaged, by application. */
  readonly #lost = new Map<string, number>();
  #state: Cached<QueueStateRow> | undefined;
  readonly #applications = new Map<number, Cached<Application>>();
  readonly #byId = new Map<string, Application>();
  readonly #changed = new Set<Application>();
  #dataVersion = 0;
  #isDue = false;
  #hasDamagedSizes = false;
  /** Whether the rows in memory are those that were committed. */
  #isCommitted = false;

  constructor(database: Database) {
    this.database = database;
  }

  /** Runs `work` in a transaction, and writes the rows that it changed. */
  transaction<T>(work: () => T): T {
    const value = this.database.transaction(() => {
      this.#begin();
      const result = work();
      this.#flush();
      return result;
    });
    this.#isCommitted = true;
    return value;
  }

  #begin(): void {
    if (!this.#isCommitted || this.#applications.size > MAX_CACHED) this.#forget();
    this.#isCommitted = false;
    const version = this.database.number('pragma data_version');
    if (version !== this.#dataVersion) this.#forget();
    this.#dataVersion = version;
    this.#lost.clear();
    this.#isDue = false;
    this.#state ??= cached(this.database.get<QueueStateRow>('select * from queue_state'));
  }

  #forget(): void {
    this.#state = undefined;
    this.#applications.clear();
    this.#byId.clear();
    this.#changed.clear();
    this.#hasDamagedSizes = false;
  }

  get state(): QueueStateRow {
    return (this.#state as Cached<QueueStateRow>).row;
  }

  /** Whether the transaction made a message due earlier than a claim said. */
  get isDue(): boolean {
    return this.#isDue;
  }

  get lostMessages(): LostMessages[] {
    return [...this.#lost].map(([applicationId, lost]) => ({ applicationId, lost }));
  }

  /**
   * Converts the machine's time into the queue's, which never goes back. When the machine's clock was
   * set back, the queue's goes on from its last time: it does not wait until the clock catches up.
   */
  time(machineMs: number): number {
    const { state } = this;
    const time = machineMs + state.clock_offset;
    const backMs = state.last_time - time;
    if (backMs > CLOCK_TOLERANCE_MS) state.clock_offset += backMs;
    state.last_time = Math.max(state.last_time, time);
    return state.last_time;
  }

  nextNumber(): number {
    this.state.last_number += 1;
    return this.state.last_number;
  }

  /** Notifies all processes that a message may be due earlier than a claim said. */
  announceDue(): void {
    if (!this.#isDue) this.state.due_changes += 1;
    this.#isDue = true;
  }

  find(applicationId: string): Application | undefined {
    const known = this.#byId.get(applicationId);
    if (known !== undefined) return known;
    return this.#read('select * from application where id = ?', toText(applicationId));
  }

  byNumber(number: number): Application | undefined {
    const known = this.#applications.get(number)?.row;
    return known ?? this.#read('select * from application where number = ?', number);
  }

  #read(sql: string, key: SqlValue): Application | undefined {
    const row = this.database.get<Application>(sql, key);
    if (row === undefined) return undefined;
    const entry = cached({ ...row, id: fromText(row.id) });
    this.#applications.set(row.number, entry);
    this.#byId.set(entry.row.id, entry.row);
    return entry.row;
  }

  /** Finds the application, or creates it with its initial state. */
  ensure(applicationId: string, state: ApplicationState): Application {
    const known = this.find(applicationId);
    if (known !== undefined) return known;
    const [id, turn] = [toText(applicationId), this.nextNumber()];
    this.database.insert('application', { id, ...columnsOf(state), turn });
    return this.find(applicationId) as Application;
  }

  /** Sets the time at which the application can be claimed. To be called after each change to it. */
  changed(application: Application): void {
    const { tier, claim, first_due: firstDue } = application;
    if (tier === 'closed' || (claim === null && firstDue === null)) application.ready_at = null;
    else if (claim !== null) application.ready_at = application.lease_end;
    else {
      const { not_before: notBefore, served_at: servedAt } = application;
      application.ready_at = Math.max(firstDue ?? 0, notBefore, servedAt);
    }
    this.#changed.add(application);
  }

  /** Adds to the pending messages of the application and of the queue. */
  addPending(application: Application, messages: number, bytes: number): void {
    application.pending += messages;
    this.state.pending += messages;
    this.state.pending_bytes += bytes;
    this.#changed.add(application);
  }

  /** Counts messages whose row was damaged. Their size may be wrong, so all sizes are added again. */
  addLost(application: Application, messages: number): void {
    application.lost += messages;
    this.#lost.set(application.id, (this.#lost.get(application.id) ?? 0) + messages);
    this.#hasDamagedSizes ||= messages > 0;
    this.#changed.add(application);
  }

  /** Writes the changed applications. Call it before they are searched by other columns than the id. */
  flushApplications(): void {
    for (const { number } of this.#changed) {
      const entry = this.#applications.get(number) as Cached<Application>;
      this.#write('application', 'number', entry);
    }
    this.#changed.clear();
  }

  #flush(): void {
    this.flushApplications();
    if (this.#hasDamagedSizes) {
      const sum = 'select coalesce(sum(size_bytes), 0) from';
      this.state.pending_bytes = this.database.number(`${sum} message`);
      this.state.dead_bytes = this.database.number(`${sum} dead_letter`);
      this.#hasDamagedSizes = false;
    }
    // A call that only advanced the time need not be written.
    const entry = this.#state as Cached<QueueStateRow>;
    if (Object.keys(changesOf(entry)).some((name) => name !== 'last_time'))
      this.#write('queue_state', 'id', entry);
  }

  /** Writes the columns that have changed, so that only their indexes are updated. */
  #write<T extends object>(table: string, key: keyof T & string, entry: Cached<T>): void {
    const changes = changesOf(entry);
    if (Object.keys(changes).length === 0) return;
    this.database.update(table, changes, [key, entry.row[key] as SqlValue]);
    Object.assign(entry.stored, changes);
  }
}

/** A state as columns of `application`. */
const columnsOf = ({ tier, maxMessages, maxBytes, circuitBreaker }: ApplicationState) => ({
  tier,
  max_messages: toWhole(maxMessages),
  max_bytes: toWhole(maxBytes),
  circuit_breaker: JSON.stringify(circuitBreaker),
});

export function setState(application: Application, state: ApplicationState): void {
  Object.assign(application, columnsOf(state));
}

export const stateOf = (row: Application): ApplicationState => ({
  tier: row.tier,
  maxMessages: row.max_messages,
  maxBytes: row.max_bytes,
  circuitBreaker: parseJson(row.circuit_breaker),
});

/** Parses JSON that the engine wrote; `null` for a text that is damaged. */
export function parseJson(text: string | null): Json | null {
  try {
    return text === null ? null : (JSON.parse(text) as Json);
  } catch {
    return null;
  }
}

function changesOf<T extends object>({ row, stored }: Cached<T>): Row {
  const changes: Record<string, SqlValue> = {};
  for (const name of Object.keys(row) as (keyof T & string)[]) {
    if (row[name] !== stored[name]) changes[name] = row[name] as SqlValue;
  }
  return changes;
}

function cached<T extends object>(row: T | undefined): Cached<T> {
  if (row === undefined) throw new Error('the row of the queue is missing');
  return { row: { ...row }, stored: { ...row } };
}

/**
 * Ids that SQLite can store as they are. Its texts end at U+0000 and cannot contain half a surrogate
 * pair, but ids may contain both: such ids are stored with the escapes of a JSON string.
 */
const PLAIN = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

export const toText = (id: string): string =>
  PLAIN.test(id) ? id : JSON.stringify(id).slice(1, -1);

export const fromText = (text: string): string =>
  PLAIN.test(text) ? text : (JSON.parse(`"${text}"`) as string);
