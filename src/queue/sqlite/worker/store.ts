/**
 * Caches the rows that nearly every call needs: the queue's state and its applications. They are read
 * again when another process has changed the file.
 */
import { systemClock } from '../../../runtime/clock.ts';
import type { ApplicationState } from '../../queue.ts';
import { fromText, toText } from '../../stored-values.ts';
import type { HandleSettings, PostedCall, WorkerPost } from '../protocol.ts';
import type { Database } from './database.ts';
import { type Application, columnsOf, type QueueStateRow } from './schema.ts';
import type { Row, SqlValue } from './sqlite-library.ts';

/** A row in memory, and its values in the file. */
interface Cached<T> {
  readonly row: T;
  readonly stored: T;
}

/** With more applications the cache is emptied. */
const MAX_CACHED = 20_000;

/** A time this far back means that the clock was set back. A smaller step is only a call that arrived late. */
const CLOCK_TOLERANCE_MS = 1000;

export class Store {
  readonly database: Database;
  /** Number of messages whose row was damaged, by application. */
  readonly #damaged = new Map<string, number>();
  #state: Cached<QueueStateRow> | undefined;
  readonly #applications = new Map<number, Cached<Application>>();
  readonly #byId = new Map<string, Application>();
  readonly #changed = new Set<Application>();
  #dataVersion = 0;
  #isDue = false;
  #hasDamagedSizes = false;
  /** Whether the cached rows are the committed ones. */
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
    this.#damaged.clear();
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

  get damagedMessages(): WorkerPost['damage'][number]['applications'] {
    return [...this.#damaged].map(([applicationId, messages]) => ({ applicationId, messages }));
  }

  /**
   * Converts the machine's time to the queue's, which never goes back. After the machine's clock was set back,
   * the queue's time continues from the last one: it does not wait until the clock has caught up.
   */
  advanceTime(machineMs: number): number {
    const { state } = this;
    const time = machineMs + state.clock_offset;
    const backMs = state.last_time - time;
    if (backMs > CLOCK_TOLERANCE_MS) state.clock_offset += backMs;
    state.last_time = Math.max(state.last_time, time);
    return state.last_time;
  }

  /** Returns a new number for a turn, a claim or a dead letter. */
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

  /** Updates `ready_at` from other columns. Must be called after each change to the application's row. */
  updateReadyAt(application: Application): void {
    const { health, claim, first_due: firstDue } = application;
    if (health === 'closed' || (claim === null && firstDue === null)) application.ready_at = null;
    else if (claim !== null) application.ready_at = application.lease_end;
    else {
      const { not_before: notBefore, served_at: servedAt } = application;
      application.ready_at = Math.max(firstDue ?? 0, notBefore, servedAt);
    }
    this.#changed.add(application);
  }

  addPending(application: Application, messages: number, bytes: number): void {
    application.pending += messages;
    this.state.pending += messages;
    this.state.pending_bytes += bytes;
    this.#changed.add(application);
  }

  /** Counts messages whose row was damaged. Their size may be wrong, so all sizes are added again. */
  addDamaged(application: Application, messages: number): void {
    application.damaged += messages;
    this.#hasDamagedSizes ||= messages > 0;
    this.reportDamage(application, messages);
  }

  /** Reports that rows of the application were damaged, also if no message was. */
  reportDamage(application: Application, messages = 0): void {
    this.#damaged.set(application.id, (this.#damaged.get(application.id) ?? 0) + messages);
    this.#changed.add(application);
  }

  /** Writes the changed applications. Must be called before a query by other columns than `id` and `number`. */
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
    // The time alone need not be written.
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

const NO_BYTES = new Uint8Array(0);

/** Settings for `repairTimes` and for calls of an incident store, which come from no queue. */
const NO_SETTINGS: HandleSettings = {
  sync: false,
  initialState: { health: 'healthy', maxMessages: 1, maxBytes: 1, circuitBreaker: null },
  maxPendingBytes: 0,
  maxPendingMessages: 0,
  maxDeadBytes: Number.MAX_SAFE_INTEGER,
};

/**
 * What every operation gets beside its arguments: the file, the time and the queue's settings. One for each
 * transaction; `begin` sets what differs between its calls.
 */
export class Context {
  readonly store: Store;
  readonly database: Database;
  /** The queue's time in whole milliseconds. */
  nowMs = Number.NaN;
  settings = NO_SETTINGS;
  /** The call's bytes, followed by those of later calls of the post. */
  bytes: Uint8Array = NO_BYTES;
  /** Buffers that move to the main thread with the answers. */
  readonly transfer: ArrayBuffer[] = [];
  /** The machine's time, the same for all calls. */
  readonly #machineMs = systemClock.now();

  constructor(store: Store) {
    this.store = store;
    this.database = store.database;
  }

  /** Begins a call. Returns whether it is later than the call before. */
  begin(call: Pick<PostedCall, 'nowMs' | 'settings'>, bytes: Uint8Array = NO_BYTES): boolean {
    const beforeMs = this.nowMs;
    this.nowMs = this.store.advanceTime(Math.floor(call.nowMs ?? this.#machineMs));
    this.settings = call.settings ?? NO_SETTINGS;
    this.bytes = bytes;
    return this.nowMs !== beforeMs;
  }

  /** Returns the time `ms` milliseconds from now, rounded up, so that nothing is due too early. */
  after(ms: number): number {
    return ms > 0 ? Math.ceil(Math.min(this.nowMs + ms, Number.MAX_SAFE_INTEGER)) : this.nowMs;
  }

  /** Joins bodies in one buffer. It moves to the main thread, which is faster than a copy. */
  join(bodies: readonly Uint8Array[]): Uint8Array {
    const all = new Uint8Array(bodies.reduce((sum, body) => sum + body.length, 0));
    let end = 0;
    for (const body of bodies) {
      all.set(body, end);
      end += body.length;
    }
    this.transfer.push(all.buffer);
    return all;
  }
}
