import { systemClock } from '../../../runtime/clock.ts';
import { systemRandom } from '../../../runtime/random.ts';
import type { Connection, Row, SqlValue, Statement } from './engine.ts';
import { isBusy, Rejection } from './failure.ts';
import type { Gate } from './gate.ts';

/** How long another process may hold the file before calls fail. */
const LOCK_WAIT_MS = 10_000;

const BUSY = Symbol('busy');

/** One connection with its statements, which are prepared on first use. */
export class Database {
  /** Kept here: the engine closes a connection that nobody refers to, even while it has statements. */
  readonly #connection: Connection;
  readonly #gate: Gate;
  readonly #statements = new Map<string, Statement>();

  constructor(connection: Connection, gate: Gate) {
    this.#connection = connection;
    this.#gate = gate;
  }

  run(sql: string, ...values: SqlValue[]): number {
    return Number(this.#prepared(sql).run(...values).changes);
  }

  get<T = Row>(sql: string, ...values: SqlValue[]): T | undefined {
    return this.#prepared(sql).get(...values) as T | undefined;
  }

  all<T = Row>(sql: string, ...values: SqlValue[]): T[] {
    return this.#prepared(sql).all(...values) as T[];
  }

  /** Rows as arrays, which cost less than objects. */
  tuples<T extends readonly SqlValue[]>(sql: string, ...values: SqlValue[]): T[] {
    const statement = this.#prepared(sql);
    statement.setReturnArrays(true);
    return statement.all(...values) as T[];
  }

  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  /** Runs a statement that takes no lock on the file for long, inside the gate. */
  quickly<T>(work: () => T): T {
    return this.#gate.run(work);
  }

  /**
   * Runs `work` in a transaction that holds the file's write lock. Waits for the lock by short random
   * sleeps: the busy timeout of SQLite sleeps longer and longer, and starves one of several processes.
   */
  transaction<T>(work: () => T): T {
    return this.patiently(() => {
      this.exec('begin immediate');
      return this.#commit(work);
    });
  }

  #commit<T>(work: () => T): T {
    try {
      const value = work();
      this.exec('commit');
      return value;
    } catch (error) {
      try {
        this.exec('rollback');
      } catch {
        // SQLite has rolled back by itself, as it does when the disk is full.
      }
      throw error;
    }
  }

  /** Repeats `attempt` while another connection holds the file. */
  patiently<T>(attempt: () => T, waitMs: number = LOCK_WAIT_MS): T {
    const endMs = systemClock.monotonicMs() + waitMs;
    for (;;) {
      const value = this.#gate.run(() => this.#unlessBusy(attempt));
      if (value !== BUSY) return value;
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

  #unlessBusy<T>(attempt: () => T): T | typeof BUSY {
    try {
      return attempt();
    } catch (error) {
      if (isBusy(error)) return BUSY;
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#gate.run(() => this.#connection.close());
  }

  #prepared(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
