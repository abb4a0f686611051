/** The rows that a transaction changes. Each is read once and written once, at the end. */
import type { LostMessages, StateTuple } from '../protocol.ts';
import type { Database } from './database.ts';
import type { Row, SqlValue } from './engine.ts';
import { fromText, toText } from './text.ts';

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

interface QueueState {
  last_sequence: number;
  last_number: number;
  pending: number;
  pending_bytes: number;
  dead_bytes: number;
  due_changes: number;
  incidents: number;
  incident_names: number;
}

/** A row of `application`: see schema.ts. */
export interface Application {
  readonly number: number;
  readonly id: string;
  tier: StateTuple[0];
  max_messages: number;
  max_bytes: number;
  circuit_breaker: string;
  not_before: number;
  served_at: number;
  turn: number;
  claim: number | null;
  lease_end: number | null;
  claimed: number;
  first_due: number | null;
  delayed_until: number;
  ready_at: number | null;
  pending: number;
  pending_bytes: number;
  accepted: number;
  delivered: number;
  dead: number;
  purged: number;
  evicted: number;
  lost: number;
}

const STATE_COLUMNS = [
  'last_sequence',
  'last_number',
  'pending',
  'pending_bytes',
  'dead_bytes',
  'due_changes',
  'incidents',
  'incident_names',
] as const satisfies readonly (keyof QueueState)[];

const COLUMNS = [
  'tier',
  'max_messages',
  'max_bytes',
  'circuit_breaker',
  'not_before',
  'served_at',
  'turn',
  'claim',
  'lease_end',
  'claimed',
  'first_due',
  'delayed_until',
  'ready_at',
  'pending',
  'pending_bytes',
  'accepted',
  'delivered',
  'dead',
  'purged',
  'evicted',
  'lost',
] as const satisfies readonly (keyof Application)[];

const assignments = (names: readonly string[]): string =>
  names.map((name) => `${name} = ?`).join(', ');

const WRITE_STATE = `update queue_state set ${assignments(STATE_COLUMNS)} where id = 1`;
const WRITE_APPLICATION = `update application set ${assignments(COLUMNS)} where number = ?`;
const INSERT_APPLICATION = `
  insert into application (id, tier, max_messages, max_bytes, circuit_breaker, turn)
  values (?, ?, ?, ?, ?, ?) returning number`;

export class Transaction {
  readonly database: Database;
  readonly state: QueueState;
  /** Messages whose row was damaged, by application. */
  readonly lost = new Map<string, number>();
  #isDue = false;
  readonly #numbers = new Map<string, number>();
  readonly #applications = new Map<number, Application>();
  readonly #changed = new Set<Application>();
  readonly #before: string;

  constructor(database: Database) {
    this.database = database;
    this.state = database.get<Writable<QueueState>>('select * from queue_state') as QueueState;
    this.#before = JSON.stringify(this.state);
  }

  get lostMessages(): LostMessages[] {
    return [...this.lost].map(([applicationId, lost]) => ({ applicationId, lost }));
  }

  get isDue(): boolean {
    return this.#isDue;
  }

  nextNumber(): number {
    this.state.last_number += 1;
    return this.state.last_number;
  }

  /** Tells all processes that a message may be due earlier than a claim said. */
  announceDue(): void {
    if (!this.#isDue) this.state.due_changes += 1;
    this.#isDue = true;
  }

  find(applicationId: string): Application | undefined {
    const number = this.#numbers.get(applicationId);
    if (number !== undefined) return this.#applications.get(number);
    const id = toText(applicationId);
    return this.#keep(this.database.get('select * from application where id = ?', id));
  }

  byNumber(number: number): Application | undefined {
    const known = this.#applications.get(number);
    if (known !== undefined) return known;
    return this.#keep(this.database.get('select * from application where number = ?', number));
  }

  #keep(row: Row | undefined): Application | undefined {
    if (row === undefined) return undefined;
    const application = { ...row, id: fromText(String(row['id'])) } as unknown as Application;
    this.#applications.set(application.number, application);
    this.#numbers.set(application.id, application.number);
    return application;
  }

  /** Finds the application, or makes it with its initial state. */
  ensure(applicationId: string, state: StateTuple): Application {
    const known = this.find(applicationId);
    if (known !== undefined) return known;
    this.database.get(INSERT_APPLICATION, toText(applicationId), ...state, this.nextNumber());
    return this.find(applicationId) as Application;
  }

  /** Sets the time at which the application can be claimed. To be called after each change to it. */
  changed(application: Application): void {
    const { tier, lease_end: leaseEnd, first_due: firstDue } = application;
    if (tier === 'closed') application.ready_at = null;
    else if (application.claim !== null) application.ready_at = leaseEnd;
    else if (firstDue === null) application.ready_at = null;
    else {
      const { not_before: notBefore, served_at: servedAt } = application;
      application.ready_at = Math.max(firstDue, notBefore, servedAt);
    }
    this.#changed.add(application);
  }

  /** Takes back `changed` for an application that is as it was. */
  unchanged(application: Application): void {
    this.#changed.delete(application);
  }

  /** Adds to the counts of what waits, of the application and of the queue. */
  addPending(application: Application, messages: number, bytes: number): void {
    application.pending += messages;
    application.pending_bytes += bytes;
    this.state.pending += messages;
    this.state.pending_bytes += bytes;
  }

  /** Counts messages whose row was damaged. */
  addLost(application: Application, messages: number): void {
    application.lost += messages;
    this.lost.set(application.id, (this.lost.get(application.id) ?? 0) + messages);
  }

  /** Writes the applications, before they are searched by something else than their id. */
  flushApplications(): void {
    for (const application of this.#changed) {
      const values = COLUMNS.map((name): SqlValue => application[name]);
      this.database.run(WRITE_APPLICATION, ...values, application.number);
    }
    this.#changed.clear();
  }

  flush(): void {
    this.flushApplications();
    if (JSON.stringify(this.state) === this.#before) return;
    this.database.run(WRITE_STATE, ...STATE_COLUMNS.map((name) => this.state[name]));
  }
}

/** The time of one call. */
export class Moment {
  readonly nowMs: number;
  readonly #exactMs: number;

  constructor(exactMs: number) {
    this.#exactMs = exactMs;
    this.nowMs = Math.floor(exactMs);
  }

  /** The time in `ms`, rounded up: nothing happens earlier than asked. */
  after(ms: number): number {
    return ms > 0 ? Math.ceil(Math.min(this.#exactMs + ms, Number.MAX_SAFE_INTEGER)) : this.nowMs;
  }
}
