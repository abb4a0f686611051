/**
 * Worlds with a PostgreSQL queue. The queue uses the world's clock: its clock function is replaced by one that
 * reads a table. Notifications of other processes arrive at once.
 */
import pg from 'pg';
import { readQueueOptions } from '../../src/queue/postgres/options.ts';
import { PostgresQueue } from '../../src/queue/postgres/postgres-queue.ts';
import { createPostgresSchema } from '../../src/queue/postgres.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import { PostgresServer, STOPPED_CLOCK } from '../helpers/postgres-server.ts';
import { deferred } from '../helpers/promises.ts';
import { wrapQueue } from '../helpers/queues.ts';
import { HEALTHY } from '../helpers/raw-entries.ts';
import { CallsInProgress } from './calls-in-progress.ts';
import type { Handle, MakeBackend, QueueBackend, QueueView } from './queue-backend.ts';
import type { Scenario } from './scenario.ts';

const TABLES = ['application', 'message', 'dead_letter', 'counter_delta'];
const NOTIFYING = [
  'enqueue',
  'settle',
  'release',
  'reopenApplication',
  'replayDeadLetters',
  'close',
] as const;

/** A PostgreSQL server that is reused by one world after the other. */
export class SimulatedDatabase {
  readonly #server: PostgresServer;
  readonly #control: pg.Client;
  readonly #pool: pg.Pool;

  private constructor(server: PostgresServer, control: pg.Client) {
    this.#server = server;
    this.#control = control;
    this.#pool = new pg.Pool({ ...server.connection, max: 5 });
  }

  static async start(): Promise<SimulatedDatabase> {
    const server = await PostgresServer.start();
    await createPostgresSchema({ connection: server.connection });
    const control = new pg.Client(server.connection);
    await control.connect();
    await control.query(STOPPED_CLOCK);
    return new SimulatedDatabase(server, control);
  }

  async stop(): Promise<void> {
    await this.#control.end();
    await this.#pool.end();
    await this.#server.stop();
  }

  readonly makeBackend: MakeBackend = {
    kind: 'postgres',
    make: (clock, scenario) =>
      new PostgresBackend({ control: this.#control, pool: this.#pool, clock, scenario }),
  };
}

interface DatabaseParts {
  readonly control: pg.Client;
  readonly pool: pg.Pool;
  readonly clock: FakeClock;
  readonly scenario: Scenario;
}

class PostgresBackend implements QueueBackend {
  readonly calls = new CallsInProgress();
  readonly observer: PostgresQueue;
  readonly #parts: DatabaseParts;
  readonly #listeners = new Set<() => void>();
  readonly #queues: PostgresQueue[] = [];
  #view: QueueView | undefined;
  #timeMs: number | undefined;
  #timeIsSet: Promise<unknown> = Promise.resolve();

  constructor(parts: DatabaseParts) {
    this.#parts = parts;
    this.observer = this.#newQueue();
  }

  readonly setUp = async (): Promise<void> => {
    const clear = TABLES.map((table) => `delete from security_events.${table};`);
    await this.#parts.control.query(
      `${clear.join('')} update security_events.pending_total set messages = 0, bytes = 0;
      update security_events.clock set offset_ms = 0, last_ms = 0`,
    );
    await this.#setTime();
    await this.observer.open(HEALTHY);
    this.#view = this.calls.watch(this.observer, this.#setTime);
  };

  #newQueue(): PostgresQueue {
    const { clock, scenario } = this.#parts;
    const { maxPendingMessages } = scenario;
    const pool = { connect: () => this.#connect() };
    const queue = new PostgresQueue(readQueueOptions({ pool, maxPendingMessages, listen: false }), {
      clock,
      newId: () => `caller-${this.#queues.length}`,
      load: () => Promise.resolve(pg),
    });
    this.#queues.push(queue);
    return queue;
  }

  /** Stops the clock while a connection is in use, including background work between calls. */
  async #connect(): Promise<pg.PoolClient> {
    const returned = deferred();
    void this.calls.track(() => returned.promise);
    const client = await this.#parts.pool.connect();
    const release = client.release.bind(client);
    client.release = (error) => {
      returned.resolve();
      release(error);
    };
    return client;
  }

  attach(): Handle {
    const queue = this.#newQueue();
    const watched = this.calls.watch(queue, this.#setTime);
    const notifying = NOTIFYING.map((name) => {
      const call = watched[name] as (...args: unknown[]) => Promise<unknown>;
      return [name, (...args: unknown[]) => call(...args).finally(() => this.#notify())];
    });
    const onDue: MessageQueue['onDue'] = (listener) => {
      this.#listeners.add(listener);
      return () => void this.#listeners.delete(listener);
    };
    return {
      queue: wrapQueue(watched, { ...Object.fromEntries(notifying), onDue }),
      drop: () => {},
    };
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Called before each call of a queue method. */
  readonly #setTime = async (): Promise<void> => {
    const ms = this.#parts.clock.monotonicMs();
    if (ms !== this.#timeMs) {
      this.#timeMs = ms;
      this.#timeIsSet = this.#parts.control.query('update security_events.time set ms = $1', [ms]);
    }
    await this.#timeIsSet;
  };

  view(): QueueView | undefined {
    return this.#view;
  }

  readonly tearDown = async (): Promise<void> => {
    for (const queue of this.#queues) await queue.close();
  };
}
