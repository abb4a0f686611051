/** Calls of the schema's functions: connections, timeouts and errors. */
import type { Client, ClientConfig, Pool, PoolClient } from 'pg';
import { SecurityEventError } from '../../errors.ts';
import { optionalImport } from '../../runtime/optional-import.ts';
import { untraced } from '../../runtime/untraced.ts';
import type { LoadPg } from './load-pg.ts';
import { failure, isRetryable } from './postgres-failure.ts';
import type { ReadOptions } from './postgres-options.ts';
import { quoted } from './sql/schema-text.ts';

/** So many times is a call begun anew of which the server says that it did nothing. */
const MAX_TRIES = 4;

/** The server cuts longer names of statements, so that two of them may be one. */
const MAX_NAME = 63;

export type Row = Readonly<Record<string, unknown>>;

export interface Connected {
  readonly pool: Pool;
  /** Whether it is ours to end. */
  readonly isOwn: boolean;
  /** A connection outside the pool; absent where nobody can know to which server. */
  readonly newClient: (() => Client) | undefined;
}

export async function connected(options: ReadOptions, load: LoadPg): Promise<Connected> {
  const { Pool, Client } = await optionalImport('pg', load);
  if (options.pool !== undefined) {
    // Not by type: the caller's `pg` may be another copy.
    const pool = options.pool as Pool;
    const { options: config } = pool as { readonly options?: Pool['options'] };
    return { pool, isOwn: false, newClient: config && (() => new Client(config)) };
  }
  const config = configOf(options);
  const pool = new Pool({ ...config, max: options.maxConnections, allowExitOnIdle: true });
  // Of a connection that is idle: the call that uses the next one is told, or finds it mended.
  pool.on('error', () => {});
  return { pool, isOwn: true, newClient: () => new Client(config) };
}

/** Of a connection, by what is under way on it: that fails, and tells. Unheard it would end the host. */
const unheard = (): void => {};

/** A connection that failed within a transaction is not used again. */
export async function withClient<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await untraced(() => pool.connect()).catch((error: unknown) => {
    throw failure(error);
  });
  client.on('error', unheard);
  try {
    const result = await work(client);
    client.off('error', unheard);
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

function configOf({ connection, callTimeoutMs, transactionPooling }: ReadOptions): ClientConfig {
  const given = typeof connection === 'string' ? { connectionString: connection } : connection;
  return {
    connectionTimeoutMillis: callTimeoutMs,
    keepAlive: true,
    fallback_application_name: 'security-event-delivery',
    // A proxy refuses connections that ask for it; there the calls end on our side alone.
    ...(transactionPooling ? {} : { statement_timeout: callTimeoutMs }),
    ...given,
  };
}

export class Database {
  readonly #connected: Connected;
  readonly #options: ReadOptions;

  constructor(connection: Connected, options: ReadOptions) {
    this.#connected = connection;
    this.#options = options;
  }

  get newClient(): (() => Client) | undefined {
    return this.#connected.newClient;
  }

  /** Calls a function of the schema with arguments of these types. */
  async call(name: string, types: readonly string[], values: readonly unknown[]): Promise<Row[]> {
    const { schema, transactionPooling } = this.#options;
    const holders = types.map((type, index) => `$${index + 1}::${type}`).join(', ');
    const text = `select * from ${quoted(schema)}.${name}(${holders})`;
    const prepared = `${schema}.${name}`;
    const isPrepared = !transactionPooling && prepared.length <= MAX_NAME;
    return await this.query(text, values, isPrepared ? prepared : undefined);
  }

  async query(text: string, values: readonly unknown[] = [], name?: string): Promise<Row[]> {
    const { callTimeoutMs } = this.#options;
    const config = {
      text,
      values: [...values],
      // In no type of the client's, but read by it: the pool may be the caller's.
      query_timeout: callTimeoutMs,
      ...(name === undefined ? {} : { name }),
    };
    for (let tries = 1; ; tries += 1) {
      try {
        const { rows } = await untraced(() => this.#connected.pool.query<Row>(config));
        return rows;
      } catch (error) {
        if (!isRetryable(error) || tries === MAX_TRIES) throw failure(error);
      }
    }
  }

  /** The only row of an answer. */
  async one(name: string, types: readonly string[], values: readonly unknown[]): Promise<Row> {
    const [row] = await this.call(name, types, values);
    if (row === undefined) throw new SecurityEventError('ERR_QUEUE_FAILED');
    return row;
  }

  async end(): Promise<void> {
    if (this.#connected.isOwn) await untraced(() => this.#connected.pool.end());
  }
}
