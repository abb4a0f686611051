import { systemClock } from '../../../runtime/clock.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { GATE_BUSY, GATE_STOP } from '../protocol.ts';
import { isBusy, Rejection } from './failure.ts';
import type { Connection, Row, SqlValue, Statement } from './sqlite-library.ts';

/** How long another process may lock the file before calls fail. */
const LOCK_WAIT_MS = 10_000;

/** Thrown instead of entering SQLite when the process ends. */
export class Stopped extends Error {}

/**
 * Marks the time inside SQLite. A process that ends while a thread is inside the native library can
 * abort, so its exit handler closes this gate and waits until the thread is outside.
 */
export class Gate {
  readonly #words: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  /** @throws Stopped when the gate is closed */
  run<T>(work: () => T): T {
    Atomics.store(this.#words, GATE_BUSY, 1);
    try {
      // This thread sets BUSY and then reads STOP, the exit handler does the reverse: one sees the other.
      if (Atomics.load(this.#words, GATE_STOP) === 1) throw new Stopped();
      return work();
    } finally {
      Atomics.store(this.#words, GATE_BUSY, 0);
      Atomics.notify(this.#words, GATE_BUSY);
    }
  }

  /** Blocks the worker's thread for `ms`, or until the gate is closed. */
  sleep(ms: number): void {
    Atomics.wait(this.#words, GATE_STOP, 0, ms);
  }
}

/** A connection. Prepares each statement on first use, and keeps it. */
export class Database {
  /** Kept, because the library closes a connection without references, even if its statements are in use. */
  readonly #connection: Connection;
  readonly #gate: Gate;
  readonly #statements = new Map<string, Statement>();
  readonly #inserts = new Map<string, string>();

  constructor(connection: Connection, gate: Gate) {
    this.#connection = connection;
    this.#gate = gate;
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: SqlValue[]): number {
    return Number(this.#prepared(sql).run(...values).changes);
  }

  /** Inserts a row. Rows of a table with equally many columns must have the same columns. */
  insert(table: string, row: Row): void {
    const values = Object.values(row);
    const kind = `${table} ${values.length}`;
    let sql = this.#inserts.get(kind);
    if (sql === undefined) {
      sql = `insert into ${table} (${Object.keys(row).join()}) values (?${',?'.repeat(values.length - 1)})`;
      this.#inserts.set(kind, sql);
    }
    this.run(sql, ...values);
  }

  /** Updates the row whose `column` has this value. */
  update(table: string, row: Row, [column, value]: readonly [string, SqlValue]): void {
    const names = Object.keys(row);
    const sql = `update ${table} set ${names.join(' = ?, ')} = ? where ${column} = ?`;
    this.run(sql, ...Object.values(row), value);
  }

  get<T = Row>(sql: string, ...values: SqlValue[]): T | undefined {
    return this.#read(sql, (statement) => statement.get(...values)) as T | undefined;
  }

  all<T = Row>(sql: string, ...values: SqlValue[]): T[] {
    return this.#read(sql, (statement) => statement.all(...values)) as T[];
  }

  /** Reads rows as arrays, which is faster, and adds the names. */
  allNamed<T>(names: readonly string[], sql: string, ...values: SqlValue[]): T[] {
    const rows = this.#read(sql, (statement) => {
      statement.setReturnArrays(true);
      return statement.all(...values);
    }) as SqlValue[][];
    return rows.map((row) => {
      const named: Record<string, SqlValue | undefined> = {};
      for (const [index, name] of names.entries()) named[name] = row[index];
      return named as T;
    });
  }

  /** Returns the number in the only column of the only row. */
  number(sql: string, ...values: SqlValue[]): number {
    return Number(Object.values(this.get(sql, ...values) ?? {})[0]);
  }

  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  /** Runs `work` once, inside the gate: for statements that need not wait for a lock. */
  withoutRetry<T>(work: () => T): T {
    return this.#gate.run(work);
  }

  /**
   * Runs `work` in a transaction that holds the file's write lock. Waits for the lock in short random sleeps:
   * SQLite's own busy timeout sleeps longer and longer, and one of several processes would starve.
   */
  transaction<T>(work: () => T): T {
    return this.retryWhileBusy(() => {
      this.run('begin immediate');
      try {
        const value = work();
        this.run('commit');
        return value;
      } catch (error) {
        try {
          this.run('rollback');
        } catch {
          // SQLite has rolled back by itself, as it does when the disk is full.
        }
        throw error;
      }
    });
  }

  /** Repeats `attempt` while another connection locks the file. */
  retryWhileBusy<T>(attempt: () => T, waitMs: number = LOCK_WAIT_MS): T {
    const endMs = systemClock.monotonicMs() + waitMs;
    for (;;) {
      try {
        return this.#gate.run(attempt);
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
      if (systemClock.monotonicMs() > endMs) {
        const detail = `another process has held the file for ${waitMs / 1000} s`;
        throw new Rejection('ERR_QUEUE_FAILED', detail);
      }
      this.pause();
    }
  }

  /** Blocks the worker's thread for 0.2 to 1.7 ms, at random so that waiting processes take turns. */
  pause(): void {
    this.#gate.sleep(0.2 + systemRandom() * 1.5);
  }

  close(): void {
    this.#statements.clear();
    this.#gate.run(() => this.#connection.close());
  }

  /** Reads unsafe integers as rounded numbers. Only damaged rows have them, whose checksum is wrong anyway. */
  #read(sql: string, read: (statement: Statement) => unknown): unknown {
    const statement = this.#prepared(sql);
    try {
      return read(statement);
    } catch (error) {
      if (!(error instanceof Error) || 'errcode' in error) throw error;
      statement.setReadBigInts(true);
      try {
        return withNumbers(read(statement));
      } finally {
        statement.setReadBigInts(false);
      }
    }
  }

  #prepared(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(withNumbers);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withNumbers(part)]));
}
