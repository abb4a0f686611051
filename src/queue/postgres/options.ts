import {
  A_FUNCTION,
  check,
  integer,
  invalidOption,
  MAX_TIMER_MS,
  type OptionsOf,
  type OptionValues,
  object,
  oneOf,
  option,
  optional,
  readOptions,
  usable,
} from '../../option-rules.ts';

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

/** The part of a `Pool` of `pg` that the queue uses. */
export interface PostgresPool {
  readonly connect: (...args: never[]) => unknown;
}

/** A connection string, or a config object of `pg`. Absent keys come from `PGHOST` and so on. */
export type PostgresServer = string | PostgresConnection;

const SCHEMA = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const BOOLEAN = oneOf(true, false);
const MAX = Number.MAX_SAFE_INTEGER;

/** `pg` reads a URL of another scheme as one without a user and a host. */
const OTHER_SCHEME = /^(?!postgres(?:ql)?:|socket:)[a-z][a-z0-9+.-]*:\/\//i;

const isServer = (value: unknown): boolean =>
  typeof value === 'string'
    ? value !== '' && !OTHER_SCHEME.test(value)
    : typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether the value is a server or a list of servers. */
export const isServers = (value: unknown): value is PostgresServer | readonly PostgresServer[] =>
  isServer(value) || (Array.isArray(value) && value.length > 0 && value.every(isServer));

const CONNECTION_OPTIONS = {
  /**
   * The server, or a list of the servers of a cluster: the one that takes writes is used, and found again
   * after a failover.
   */
  connection: optional<PostgresServer | readonly PostgresServer[]>(
    usable('a connection string, an object or a list of them', isServers),
  ),
  /** Returns the server that takes writes. Called at the start, and again when a connection fails. */
  connect: optional<() => PostgresServer | Promise<PostgresServer>>(A_FUNCTION),
  /** A pool of the caller, which stays open. It needs its own listener for `error` events. */
  pool: optional<PostgresPool>(object('a pool of pg', (value) => 'connect' in value)),
  /** The schema of the queue: a letter or `_`, then at most 62 of these and digits. Default `security_events`. */
  schema: option<string>(
    usable(
      'a name of letters, digits and _ that does not begin with a digit',
      (value) => typeof value === 'string' && SCHEMA.test(value),
    ),
    'security_events',
  ),
  /** Maximum time of a call, in milliseconds: 100 to 2147483647. Default 30000. */
  callTimeoutMs: option(integer(100, MAX_TIMER_MS), 30_000),
  /**
   * Set this if a proxy between the process and the server gives each transaction another connection,
   * such as PgBouncer in its mode `transaction`. Nothing is prepared, no setting is sent, and new messages
   * are found by polling. Default false.
   */
  transactionPooling: option<boolean>(BOOLEAN, false),
};

const QUEUE_OPTIONS = {
  ...CONNECTION_OPTIONS,
  /** Maximum number of pending messages of all processes. A positive integer; default 10000000. */
  maxPendingMessages: option(integer(1, MAX), 10_000_000),
  /** Maximum of their bytes, as they are sent. A positive integer; default 10737418240 (10 GiB). */
  maxPendingBytes: option(integer(1, MAX), 10 * 1024 ** 3),
  /** Size of the pool for each server: 1 to 1000, default 10. `listen` uses one more. */
  maxConnections: option(integer(1, 1000), 10),
  /** Whether other processes can notify this one (LISTEN). Default true; false with `transactionPooling`. */
  listen: optional<boolean>(BOOLEAN, 'true; false with `transactionPooling`'),
  /** How often to look for messages without a notification, in milliseconds: 10 to 2147483647. Default 1000. */
  pollMs: option(integer(10, MAX_TIMER_MS), 1000),
};

/** Names the database: exactly one of `connection`, `connect` and `pool`. */
export interface PostgresConnectionOptions extends OptionsOf<typeof CONNECTION_OPTIONS> {}

export interface PostgresQueueOptions extends OptionsOf<typeof QUEUE_OPTIONS> {}

export type ReadOptions = OptionValues<typeof QUEUE_OPTIONS> & { readonly listen: boolean };

export function readQueueOptions(given: unknown): ReadOptions {
  const options = readOptions(given, QUEUE_OPTIONS);
  const { connection, connect, pool, transactionPooling } = options;
  const { listen = !transactionPooling } = options;
  if ([connection, connect, pool].filter((one) => one !== undefined).length !== 1) {
    throw invalidOption('expected exactly one of connection, connect and pool', ['connection']);
  }
  if (listen && transactionPooling) {
    throw invalidOption('expected listen to be false with transactionPooling', ['listen']);
  }
  return { ...options, listen };
}

/** Reads the options of a connection, and adds the defaults of a queue. */
export const readConnectionOptions = (given: unknown): ReadOptions =>
  readQueueOptions(check(given, CONNECTION_OPTIONS));
