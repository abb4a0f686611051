/** Connections to the server that takes writes, which can be another one after a failover. */
import type { Client, ClientConfig, Pool, PoolClient } from 'pg';
import { SecurityEventError } from '../../errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { optionalImport, rethrow } from '../../runtime/optional-import.ts';
import { withTimeout } from '../../runtime/timers.ts';
import { untraced } from '../../runtime/untraced.ts';
import { isServers, type PostgresServer, type ReadOptions } from './options.ts';

/** Loaded when a queue is opened, so that other users do not need the package. */
export const loadPg = async () => (await import('pg').catch(rethrow)).default;

export type LoadPg = typeof loadPg;

export interface ServersParts {
  readonly clock: Pick<Clock, 'sleepUnref' | 'monotonicMs' | 'startTimer'>;
  readonly load: LoadPg;
}

/** Maximum time to connect to one of several servers, in milliseconds. */
const CONNECT_MS = 2000;

/** After this time without a connection, all servers are tried. In milliseconds. */
const HEDGE_MS = 500;

type Pg = Awaited<ReturnType<LoadPg>>;

interface Server {
  readonly pool: Pool;
  /** Its settings from the options, as JSON. */
  readonly key?: string;
  /** Absent if the caller's pool does not show its server. */
  readonly newClient?: () => Client;
}

/** Reads the settings of a new connection, and throws if it cannot be used. */
export type CheckClient = (client: PoolClient) => Promise<void>;

/** The running query reports errors. Without a listener they would end the process. */
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
   * Creates a connection outside the pools, to the server that was used last. Returns `undefined` if the
   * caller's pool does not show its server.
   */
  newClient(): Client | undefined {
    return this.#current?.newClient?.();
  }

  /**
   * Runs `work` with a connection to the server that takes writes, and the remaining time in milliseconds. If
   * `work` fails, the connection is not used again.
   */
  async withClient<T>(
    timeoutMs: number,
    work: (client: PoolClient, remainingMs: number) => Promise<T>,
  ): Promise<T> {
    const endsAt = this.monotonicMs() + timeoutMs;
    const client = await this.#connectWithin(timeoutMs);
    try {
      const result = await work(client, Math.max(1, endsAt - this.monotonicMs()));
      giveBack(client);
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

  /** Gives a connection that comes too late back to its pool. */
  async #connectWithin(timeoutMs: number): Promise<PoolClient> {
    const connecting = this.#connect();
    const client = await this.#resolveWithin(timeoutMs, connecting);
    if (client !== undefined) return client;
    connecting.then(giveBack, ignore);
    throw new Error('no connection in time');
  }

  /** Resolves to `undefined` if `work` takes longer. */
  async #resolveWithin<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
    const { clock } = this.#parts;
    return (await withTimeout(work, { clock, ms }))?.value;
  }

  async #connect(): Promise<PoolClient> {
    const current = this.#current ?? (await this.#search());
    const first = this.#clientOf(current);
    if (this.#isOnlyServer) return await first;
    const quick = await this.#resolveWithin(
      HEDGE_MS,
      first.catch(() => undefined),
    );
    if (quick !== undefined) return quick;
    const found = await this.#search().catch(() => undefined);
    // The server is only slow or busy, or no server takes writes.
    if (found === undefined || found === current) return await first;
    first.then(giveBack, ignore);
    return await this.#clientOf(found);
  }

  get #isOnlyServer(): boolean {
    return this.#options.connect === undefined && this.#servers.length === 1;
  }

  /** Returns the servers of the options, or asks the host for them. */
  async #namedServers(): Promise<unknown> {
    const { connection, connect } = this.#options;
    try {
      return connect === undefined ? connection : await connect();
    } catch (cause) {
      throw new SecurityEventError('ERR_QUEUE_FAILED', { detail: 'connect failed', cause });
    }
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
      giveBack(await this.#clientOf(server));
      return server;
    });
    try {
      return await Promise.any(tries);
    } catch (error) {
      throw (error as AggregateError).errors[0];
    }
  }

  /** Updates the servers from the options. Keeps the pools of known ones, and ends the others. */
  async #update(): Promise<void> {
    this.#pg ??= await optionalImport('pg@8', this.#parts.load);
    const pg = this.#pg;
    const { pool, callTimeoutMs: ms } = this.#options;
    const known = this.#servers;
    if (pool !== undefined) {
      if (known.length === 0) this.#servers = [serverOfPool(pool as unknown as Pool, pg)];
      return;
    }
    // With a time limit: later calls, and `close`, wait for this search.
    const named = await this.#resolveWithin(ms, this.#namedServers());
    if (!isServers(named)) {
      const detail = `connect returned neither a connection string nor an object within ${ms} ms`;
      throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
    }
    const list = [named].flat();
    this.#servers = list.map((one) => {
      const key = JSON.stringify(one);
      const config = this.#configOf(one, list.length > 1 || this.#options.connect !== undefined);
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

  #configOf(server: PostgresServer, isOneOfMany: boolean): ClientConfig {
    const { callTimeoutMs, transactionPooling } = this.#options;
    return {
      connectionTimeoutMillis: isOneOfMany ? Math.min(CONNECT_MS, callTimeoutMs) : callTimeoutMs,
      keepAlive: true,
      fallback_application_name: 'security-event-delivery',
      // A proxy refuses connections with this setting. Then only the client limits the time of calls.
      ...(transactionPooling ? {} : { statement_timeout: callTimeoutMs }),
      ...(typeof server === 'string' ? { connectionString: server } : server),
    };
  }

  #newServer(key: string, config: ClientConfig, { Client, Pool }: Pg): Server {
    const { maxConnections, callTimeoutMs } = this.#options;
    class ServerClient extends Client {
      constructor() {
        super(config);
        // After connecting, the pool has no listener until the waiting call gets the client.
        this.on('error', ignore);
      }
    }
    const pool = new Pool({
      Client: ServerClient,
      max: maxConnections,
      // Limits the wait for a free connection. The config limits the time to connect.
      connectionTimeoutMillis: callTimeoutMs,
      allowExitOnIdle: true,
    });
    // For lost idle connections. The next call makes a new one.
    pool.on('error', ignore);
    return { pool, key, newClient: () => new Client(config) };
  }
}

function serverOfPool(pool: Pool, { Client }: Pg): Server {
  const { options: config } = pool as { readonly options?: Pool['options'] };
  return config === undefined ? { pool } : { pool, newClient: () => new Client(config) };
}

function giveBack(client: PoolClient): void {
  client.off('error', ignore);
  client.release();
}
