/**
 * Worlds whose queue is in a PostgreSQL database. The server's clock is that of the world: the one
 * function that reads it reads a table here. LISTEN and NOTIFY are the server's own; the clock of the
 * world stands until they have arrived.
 */
import pg from 'pg';
import { readQueueOptions } from '../../src/queue/postgres/options.ts';
import { PostgresQueue } from '../../src/queue/postgres/postgres-queue.ts';
import { createPostgresSchema } from '../../src/queue/postgres.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import { PostgresServer, STANDING_CLOCK } from '../helpers/postgres-server.ts';
import type { Backing, Handle, Looked, MakeBacking } from './backing.ts';
import { SOUND, type Spoil } from './flaws.ts';
import type { Scenario } from './scenario.ts';
import { UnderWay } from './under-way.ts';

const INITIAL = { tier: 'untried', maxMessages: 1, maxBytes: 1, circuitBreaker: null } as const;
const TABLES = ['application', 'message', 'dead_letter', 'counter_delta'];
const CONNECTIONS = 5;
/** Rare: each is a round of the world. */
const POLL_MS = 10_000;
/** What is due and held by another process is asked for again after so long. */
const SOON_MS = 5;
/** Rung last, so that whoever hears of it has heard of all before. */
const MARK = 'mark';

/** One server, for worlds one after the other. */
export class SimulatedDatabase {
  readonly server: PostgresServer;
  readonly control: pg.Client;
  readonly pool: pg.Pool;

  private constructor(server: PostgresServer, control: pg.Client) {
    this.server = server;
    this.control = control;
    this.pool = new pg.Pool({ ...server.connection, max: CONNECTIONS });
  }

  static async start(): Promise<SimulatedDatabase> {
    const server = await PostgresServer.start();
    await createPostgresSchema({ connection: server.connection });
    const control = new pg.Client(server.connection);
    await control.connect();
    await control.query(STANDING_CLOCK);
    return new SimulatedDatabase(server, control);
  }

  async stop(): Promise<void> {
    await this.control.end();
    await this.pool.end();
    await this.server.stop();
  }

  makeBacking(spoil: Spoil = SOUND): MakeBacking {
    return {
      kind: 'postgres',
      make: (clock, scenario) => new Tables(this, { clock, scenario, spoil }),
    };
  }
}

interface TablesOptions {
  readonly clock: FakeClock;
  readonly scenario: Scenario;
  readonly spoil: Spoil;
}

class Tables implements Backing {
  readonly kind = 'postgres';
  readonly hearsLateMs: number;
  readonly #database: SimulatedDatabase;
  readonly #options: TablesOptions;
  readonly #underWay = new UnderWay();
  readonly #pool: Pick<pg.Pool, 'query' | 'connect' | 'options'>;
  readonly #listening = new Set<Listener>();
  readonly #all: PostgresQueue[] = [];
  readonly #observer: PostgresQueue;
  #looked: Looked | undefined;
  #timeMs: number | undefined;
  #timeIsSet: Promise<unknown> = Promise.resolve();
  #marks = 0;
  #mayHaveRung = false;

  constructor(database: SimulatedDatabase, options: TablesOptions) {
    this.#database = database;
    this.#options = options;
    const { pool } = database;
    const query = ((config: pg.QueryConfig) =>
      this.#underWay.track(() => pool.query(config))) as typeof pool.query;
    this.#pool = { query, connect: pool.connect.bind(pool), options: pool.options };
    // One that is not rung for what another one settled looks for it now and then.
    const isShared = options.scenario.processes.length > 1;
    this.hearsLateMs = SOON_MS + (isShared ? POLL_MS : 0);
    this.#observer = this.#made(false);
  }

  readonly begin = async (): Promise<void> => {
    const clear = TABLES.map((table) => `delete from security_events.${table};`);
    await this.#database.control.query(
      `${clear.join('')} update security_events.pending_total set messages = 0, bytes = 0;
      update security_events.clock set offset_ms = 0, last_ms = 0`,
    );
    await this.#setTime();
    await this.#observer.open(INITIAL);
    this.#looked = this.#underWay.watch(this.#observer, this.#setTime);
  };

  #made(listen: boolean): PostgresQueue {
    const { clock, scenario } = this.#options;
    const { maxPendingMessages } = scenario;
    const bounds = { maxPendingMessages, pollMs: POLL_MS, listen };
    const made = new PostgresQueue(readQueueOptions({ pool: this.#pool, ...bounds }), {
      clock,
      newId: () => `caller-${this.#all.length}`,
      load: () => Promise.resolve({ ...pg, Client: this.#listenerClass() }),
    });
    this.#all.push(made);
    return made;
  }

  attach(): Handle {
    const made = this.#made(true);
    const queue = this.#underWay.watch(this.#options.spoil(made), this.#setTime);
    return { queue, drop: () => {} };
  }

  /** Before the first call of each moment. */
  readonly #setTime = async (): Promise<void> => {
    const ms = this.#options.clock.monotonicMs();
    this.#mayHaveRung = true;
    if (ms !== this.#timeMs) {
      this.#timeMs = ms;
      this.#timeIsSet = this.#database.control.query({
        name: 'time',
        text: 'update security_events.time set ms = $1',
        values: [ms],
      });
    }
    await this.#timeIsSet;
  };

  #listenerClass(): typeof pg.Client {
    const [underWay, listening] = [this.#underWay, this.#listening];
    return class extends Listener {
      constructor(config?: string | pg.ClientConfig) {
        super(underWay, config);
        listening.add(this);
        this.once('end', () => listening.delete(this));
      }
    };
  }

  look(): Looked | undefined {
    return this.#looked;
  }

  readonly alone = (): (() => boolean) => this.#underWay.alone();

  readonly rest = async (): Promise<void> => {
    await this.#underWay.rest();
    while (this.#mayHaveRung) {
      this.#mayHaveRung = false;
      this.#marks += 1;
      const heard = [...this.#listening].map((one) => one.heard(this.#marks));
      await this.#database.control.query(`select pg_notify('${MARK}', '${this.#marks}')`);
      await Promise.all(heard);
      await this.#underWay.rest();
    }
  };

  readonly lookAfterwards = (): Promise<Looked> => Promise.resolve(this.#observer);

  readonly end = async (): Promise<void> => {
    for (const queue of this.#all) await queue.close();
  };
}

/** The connection on which a queue hears of others, and we that it has heard. */
class Listener extends pg.Client {
  #waiting: { readonly mark: number; readonly hear: () => void }[] = [];
  #isEnded = false;

  constructor(underWay: UnderWay, config: string | pg.ClientConfig | undefined) {
    super(config);
    void underWay.track(() => this.#ready());
  }

  async #ready(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.once('end', () => {
        this.#isEnded = true;
        this.#tell(Number.POSITIVE_INFINITY);
        resolve();
      });
      // What it was made for is done: it listens.
      this.once('drain', resolve);
    });
    if (!this.#isEnded) await this.query(`listen ${MARK}`);
  }

  heard(mark: number): Promise<void> {
    if (this.#isEnded) return Promise.resolve();
    return new Promise((hear) => {
      this.#waiting.push({ mark, hear });
    });
  }

  override emit(event: string | symbol, ...args: unknown[]): boolean {
    const [told] = args as [Partial<pg.Notification> | undefined];
    if (event !== 'notification' || told?.channel !== MARK) return super.emit(event, ...args);
    this.#tell(Number(told.payload));
    return true;
  }

  #tell(upTo: number): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ mark }) => mark > upTo);
    for (const { mark, hear } of waiting) if (mark <= upTo) hear();
  }
}
