/** Connections to the server that takes writes, which can be another one after a failover. */
import type { Client, ClientConfig, Pool, PoolClient } from 'pg';
import type { Clock } from '../../runtime/clock.ts';
import { optionalImport } from '../../runtime/optional-import.ts';
import { untraced } from '../../runtime/untraced.ts';
import type { PostgresConnection, ReadOptions } from './options.ts';

/** Loaded when a queue is opened, so that other users do not need the package. */
export const loadPg = async () => (await import('pg')).default;

export type LoadPg = typeof loadPg;

export interface ServersParts {
  readonly clock: Pick<Clock, 'idle' | 'monotonicMs' | 'startTimer'>;
  readonly load: LoadPg;
}

/** Maximum time to connect to one of several servers, in milliseconds. */
const CONNECT_MS = 2000;

/** After this time without a connection, the other servers are tried too. In milliseconds. */
const HEDGE_MS = 500;

type Pg = Awaited<ReturnType<LoadPg>>;

interface Server {
  readonly pool: Pool;
  /** The caller's settings of it, as JSON. */
  readonly key?: string;
  /** Absent when a pool of the caller does not show where it connects to. */
  readonly newClient?: () => Client;
}

/** Reads the settings of a new connection, and throws if it cannot be used. */
export type CheckClient = (client: PoolClient) => Promise<void>;

/** Errors are reported by the query that is under way. Without a listener they would end the process. */
const ignore = (): void => {};

export class Servers {
  readonly #options: ReadOptions;
  readonly #parts: ServersParts;
  readonly #check: CheckClient;
  readonly #checked = new WeakSet<object>();
  #servers: readonly Server[] = [];
  #current: Server | undefined;
  #searching: Promise<Server> | undefined;
  #pg: Pg | undefined;

  constructor(options: ReadOptions, parts: ServersParts, check: CheckClient) {
    this.#options = options;
    this.#parts = parts;
    this.#check = check;
  }

  monotonicMs(): number {
    return this.#parts.clock.monotonicMs();
  }

  /**
   * Makes a connection outside the pools, to the server that was used last; `undefined` if a pool of the
   * caller does not show where it connects to.
   */
  newClient(): Client | undefined {
    return this.#current?.newClient?.();
  }

  /**
   * Runs `work` with a connection to the server that takes writes. `work` gets the time that is left, in
   * milliseconds. A connection whose work failed is not used again.
   */
  async withClient<T>(
    timeoutMs: number,
    work: (client: PoolClient, remainingMs: number) => Promise<T>,
  ): Promise<T> {
    const endsAt = this.monotonicMs() + timeoutMs;
    const client = await this.#connectWithin(timeoutMs);
    try {
      const result = await work(client, Math.max(1, endsAt - this.monotonicMs()));
      client.off('error', ignore);
      client.release();
      return result;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  async end(): Promise<void> {
    if (this.#options.pool !== undefined) return;
    await this.#searching?.catch(ignore);
    await Promise.all(this.#servers.map(({ pool }) => untraced(() => pool.end())));
  }

  /** A connection that comes too late goes back to its pool. */
  async #connectWithin(timeoutMs: number): Promise<PoolClient> {
    const connecting = this.#connect();
    const client = await this.#within(timeoutMs, connecting);
    if (client !== undefined) return client;
    giveBack(connecting);
    throw new Error('no connection in time');
  }

  /** Resolves to `undefined` if `work` takes longer. */
  async #within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
    const { clock } = this.#parts;
    return await new Promise((resolve, reject) => {
      const cancel = clock.startTimer(ms, () => resolve(undefined), 'let-end');
      void work.then(resolve, reject).finally(cancel);
    });
  }

  async #connect(): Promise<PoolClient> {
    const current = this.#current ?? (await this.#search());
    const first = this.#clientOf(current);
    if (this.#isAlone) return await first;
    const early = await this.#within(
      HEDGE_MS,
      first.catch(() => undefined),
    );
    if (early !== undefined) return early;
    const found = await this.#search().catch(() => undefined);
    // The same server is slow or busy, or no server takes writes.
    if (found === undefined || found === current) return await first;
    giveBack(first);
    return await this.#clientOf(found);
  }

  get #isAlone(): boolean {
    return this.#options.connect === undefined && this.#servers.length === 1;
  }

  /** Finds the server that takes writes. Concurrent calls share one search. */
  async #search(): Promise<Server> {
    this.#searching ??= this.#tryAll().finally(() => {
      this.#searching = undefined;
    });
    this.#current = await this.#searching;
    return this.#current;
  }

  async #tryAll(): Promise<Server> {
    await this.#update();
    const tries = this.#servers.map(async (server) => {
      const client = await this.#clientOf(server);
      client.off('error', ignore);
      client.release();
      return server;
    });
    try {
      return await Promise.any(tries);
    } catch (error) {
      throw (error as AggregateError).errors[0];
    }
  }

  /** Keeps the pools of servers that are still named, and ends the others. */
  async #update(): Promise<void> {
    this.#pg ??= await optionalImport('pg', this.#parts.load);
    const pg = this.#pg;
    const { connection, connect, pool } = this.#options;
    const known = this.#servers;
    if (pool !== undefined) {
      if (known.length === 0) this.#servers = [serverOf(pool as unknown as Pool, pg)];
      return;
    }
    const given = connect === undefined ? connection : await connect();
    const list = Array.isArray(given) ? (given as readonly Given[]) : [given as Given];
    this.#servers = list.map((one) => {
      const key = JSON.stringify(one);
      const config = this.#configOf(one, list.length > 1 || connect !== undefined);
      return known.find((server) => server.key === key) ?? this.#newServer(key, config, pg);
    });
    const gone = known.filter((server) => !this.#servers.includes(server));
    for (const { pool: old } of gone) void untraced(() => old.end()).catch(ignore);
  }

  async #clientOf({ pool }: Server): Promise<PoolClient> {
    const client = await untraced(() => pool.connect());
    client.on('error', ignore);
    if (this.#checked.has(client)) return client;
    try {
      await this.#check(client);
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#checked.add(client);
    return client;
  }

  #configOf(given: Given, isOneOfMany: boolean): ClientConfig {
    const { callTimeoutMs, transactionPooling } = this.#options;
    return {
      connectionTimeoutMillis: isOneOfMany ? Math.min(CONNECT_MS, callTimeoutMs) : callTimeoutMs,
      keepAlive: true,
      fallback_application_name: 'security-event-delivery',
      // A proxy refuses connections that ask for it. There only the client ends calls.
      ...(transactionPooling ? {} : { statement_timeout: callTimeoutMs }),
      ...(typeof given === 'string' ? { connectionString: given } : given),
    };
  }

  #newServer(key: string, config: ClientConfig, { Client, Pool }: Pg): Server {
    const { maxConnections, callTimeoutMs } = this.#options;
    class ServerClient extends Client {
      constructor() {
        super(config);
        // The pool has no listener between the end of the connecting and the call that waits for it.
        this.on('error', ignore);
      }
    }
    const pool = new Pool({
      Client: ServerClient,
      max: maxConnections,
      // How long a call waits for one of the connections. The config limits how long one takes.
      connectionTimeoutMillis: callTimeoutMs,
      allowExitOnIdle: true,
    });
    // An idle connection was lost. The next call makes a new one.
    pool.on('error', ignore);
    return { pool, key, newClient: () => new Client(config) };
  }
}

function serverOf(pool: Pool, { Client }: Pg): Server {
  const { options: config } = pool as { readonly options?: Pool['options'] };
  return config === undefined ? { pool } : { pool, newClient: () => new Client(config) };
}

type Given = string | PostgresConnection;

const giveBack = (connecting: Promise<PoolClient>): void => {
  connecting.then((client) => {
    client.off('error', ignore);
    client.release();
  }, ignore);
};
