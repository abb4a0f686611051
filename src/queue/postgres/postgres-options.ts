import {
  check,
  integer,
  invalidOption,
  MAX_TIMER_MS,
  object,
  oneOf,
  usable,
} from '../../option-rules.ts';
import { ownProperties } from '../../own-properties.ts';

/** A config object of `pg`, whose documentation tells the rest. */
export interface PostgresConnection {
  readonly connectionString?: string | undefined;
  /** A name, an address, or the folder of a Unix socket. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly password?: string | (() => string | Promise<string>) | undefined;
  readonly database?: string | undefined;
  readonly ssl?: boolean | object | undefined;
  readonly application_name?: string | undefined;
}

/** What is used of a `Pool` of `pg`. */
export interface PostgresPool {
  readonly connect: (...args: never[]) => unknown;
  readonly query: (...args: never[]) => unknown;
}

/** Where the database is: exactly one of `connection` and `pool`. */
export interface PostgresConnectionOptions {
  /** A connection string, or a config object of `pg`; absent keys come from `PGHOST` and so on. */
  readonly connection?: string | PostgresConnection;
  /** A pool of the caller's, which stays open. It has to hear its own `error` events. */
  readonly pool?: PostgresPool;
  /** The schema that holds all of it, a letter or `_` and at most 62 of these and digits. Default `security_events`. */
  readonly schema?: string;
  /** How long a call may take, in ms: 100 to 2147483647. Default 30000. */
  readonly callTimeoutMs?: number;
  /**
   * Between us and the server a proxy gives each transaction another connection, such as PgBouncer
   * in its mode `transaction`: no statement is prepared, no setting is sent, and nothing is listened
   * for. Default false.
   */
  readonly transactionPooling?: boolean;
}

export interface PostgresQueueOptions extends PostgresConnectionOptions {
  /** How many messages may wait in all processes. A positive integer; default 10000000. */
  readonly maxPendingMessages?: number;
  /** How many bytes of them, as they are sent. A positive integer; default 10737418240 (10 GiB). */
  readonly maxPendingBytes?: number;
  /** Size of a pool of our own: 1 to 1000, default 10. One more is open while `listen` is. */
  readonly maxConnections?: number;
  /** Hears of what other processes bring in (LISTEN). Default true, false with `transactionPooling`. */
  readonly listen?: boolean;
  /** How often to look for what nobody rang for, in ms: 10 to 2147483647. Default 1000. */
  readonly pollMs?: number;
}

type Optional = 'connection' | 'pool';

export type ReadOptions = Required<Omit<PostgresQueueOptions, Optional>> &
  Pick<PostgresQueueOptions, Optional>;

const SCHEMA = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const BOOLEAN = oneOf(true, false);

const CONNECTION_RULES = {
  connection: usable(
    'a connection string or an object',
    (value) => (typeof value === 'string' && value !== '') || isPlainObject(value),
  ),
  pool: object('a pool of pg', (value) => 'query' in value && 'connect' in value),
  schema: usable(
    'a name of letters, digits and _ that does not begin with a digit',
    (value) => typeof value === 'string' && SCHEMA.test(value),
  ),
  callTimeoutMs: integer(100, MAX_TIMER_MS),
  transactionPooling: BOOLEAN,
};

const QUEUE_RULES = {
  ...CONNECTION_RULES,
  maxPendingMessages: integer(1, Number.MAX_SAFE_INTEGER),
  maxPendingBytes: integer(1, Number.MAX_SAFE_INTEGER),
  maxConnections: integer(1, 1000),
  listen: BOOLEAN,
  pollMs: integer(10, MAX_TIMER_MS),
};

const isPlainObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const readQueueOptions = (given: unknown): ReadOptions =>
  withDefaults(check<PostgresQueueOptions>(given, QUEUE_RULES));

export const readConnectionOptions = (given: unknown): ReadOptions =>
  withDefaults(check<PostgresConnectionOptions>(given, CONNECTION_RULES));

function withDefaults(options: PostgresQueueOptions): ReadOptions {
  const { connection, pool, transactionPooling = false, listen = !transactionPooling } = options;
  if ((connection === undefined) === (pool === undefined)) {
    throw invalidOption('expected connection or pool, and not both', ['connection']);
  }
  if (listen && transactionPooling) {
    throw invalidOption('expected listen to be false with transactionPooling', ['listen']);
  }
  return ownProperties({
    ...(connection === undefined ? {} : { connection }),
    ...(pool === undefined ? {} : { pool }),
    schema: options.schema ?? 'security_events',
    callTimeoutMs: options.callTimeoutMs ?? 30_000,
    transactionPooling,
    maxPendingMessages: options.maxPendingMessages ?? 10_000_000,
    maxPendingBytes: options.maxPendingBytes ?? 10 * 1024 ** 3,
    maxConnections: options.maxConnections ?? 10,
    listen,
    pollMs: options.pollMs ?? 1000,
  });
}
