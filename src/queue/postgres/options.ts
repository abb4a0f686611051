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

/** A config object of `pg`. Its documentation has the details. */
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
}

/** A connection string, or a config object of `pg`. Absent keys come from `PGHOST` and so on. */
export type PostgresServer = string | PostgresConnection;

/** Where the database is: exactly one of `connection`, `connect` and `pool`. */
export interface PostgresConnectionOptions {
  /**
   * The server, or a list of the servers of a cluster: the one that takes writes is used, and found again
   * after a failover.
   */
  readonly connection?: PostgresServer | readonly PostgresServer[];
  /** Returns the server that takes writes. Called at the start, and again when a connection fails. */
  readonly connect?: () => PostgresServer | Promise<PostgresServer>;
  /** A pool of the caller, which stays open. It needs its own listener for `error` events. */
  readonly pool?: PostgresPool;
  /** The schema of the queue: a letter or `_`, then at most 62 of these and digits. Default `security_events`. */
  readonly schema?: string;
  /** Maximum time of a call, in milliseconds: 100 to 2147483647. Default 30000. */
  readonly callTimeoutMs?: number;
  /**
   * Set this if a proxy between the process and the server gives each transaction another connection,
   * such as PgBouncer in its mode `transaction`. Nothing is prepared, no setting is sent, and new messages
   * are found by polling. Default false.
   */
  readonly transactionPooling?: boolean;
}

export interface PostgresQueueOptions extends PostgresConnectionOptions {
  /** Maximum number of pending messages of all processes. A positive integer; default 10000000. */
  readonly maxPendingMessages?: number;
  /** Maximum of their bytes, as they are sent. A positive integer; default 10737418240 (10 GiB). */
  readonly maxPendingBytes?: number;
  /** Size of the pool for each server: 1 to 1000, default 10. One more connection is open while `listen` is. */
  readonly maxConnections?: number;
  /** Whether other processes can notify this one (LISTEN). Default true; false with `transactionPooling`. */
  readonly listen?: boolean;
  /** How often to look for messages without a notification, in milliseconds: 10 to 2147483647. Default 1000. */
  readonly pollMs?: number;
}

type Optional = 'connection' | 'connect' | 'pool';

export type ReadOptions = Required<Omit<PostgresQueueOptions, Optional>> &
  Pick<PostgresQueueOptions, Optional>;

const SCHEMA = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const BOOLEAN = oneOf(true, false);

const isServer = (value: unknown): boolean =>
  typeof value === 'string'
    ? value !== ''
    : typeof value === 'object' && value !== null && !Array.isArray(value);

const CONNECTION_RULES = {
  connection: usable(
    'a connection string, an object or a list of them',
    (value) =>
      isServer(value) || (Array.isArray(value) && value.length > 0 && value.every(isServer)),
  ),
  connect: usable('a function', (value) => typeof value === 'function'),
  pool: object('a pool of pg', (value) => 'connect' in value),
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

export const readQueueOptions = (given: unknown): ReadOptions =>
  withDefaults(check<PostgresQueueOptions>(given, QUEUE_RULES));

export const readConnectionOptions = (given: unknown): ReadOptions =>
  withDefaults(check<PostgresConnectionOptions>(given, CONNECTION_RULES));

function withDefaults(options: PostgresQueueOptions): ReadOptions {
  const { connection, connect, pool } = options;
  const { transactionPooling = false, listen = !transactionPooling } = options;
  if ([connection, connect, pool].filter((one) => one !== undefined).length !== 1) {
    throw invalidOption('expected exactly one of connection, connect and pool', ['connection']);
  }
  if (listen && transactionPooling) {
    throw invalidOption('expected listen to be false with transactionPooling', ['listen']);
  }
  return ownProperties({
    ...(connection === undefined ? {} : { connection }),
    ...(connect === undefined ? {} : { connect }),
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
