import {
  check,
  integer,
  invalidOption,
  MAX_TIMER_MS,
  object,
  oneOf,
  usable,
} from '../../option-rules.ts';
import type { NatsConnection } from './nats.ts';

/** Options of `connect` of `@nats-io/transport-node`, whose documentation tells the rest. */
export interface JetStreamServers {
  /** `host:port`, one or several of a cluster. Default `127.0.0.1:4222`. */
  readonly servers?: string | readonly string[] | undefined;
  readonly user?: string | undefined;
  readonly pass?: string | undefined;
  readonly token?: string | undefined;
  readonly tls?: object | null | undefined;
  readonly name?: string | undefined;
}

export interface JetStreamConnectionOptions {
  /**
   * A connection of the caller's, which stays open, or what to connect with: we then reconnect for
   * as long as the queue is open.
   */
  readonly connection: NatsConnection | JetStreamServers;
  /** What streams, buckets and subjects are called by: at most 64 letters, digits, `_` and `-`. Default `security-events`. */
  readonly prefix?: string;
  /** How long a call may take, in ms: 100 to 2147483647. Default 30000. */
  readonly callTimeoutMs?: number;
}

export interface JetStreamStreamsOptions extends JetStreamConnectionOptions {
  /** On how many servers each message is kept: 1 to 5. Default 1; a cluster of three wants 3. */
  readonly replicas?: number;
  /** Default `file`. */
  readonly storage?: 'file' | 'memory';
  /** How many messages may wait. A positive integer; default 10000000. */
  readonly maxPendingMessages?: number;
  /** How many bytes of them, as the server stores them. A positive integer; default 1073741824 (1 GiB). */
  readonly maxPendingBytes?: number;
}

export type JetStreamQueueOptions = JetStreamConnectionOptions;

export type ReadOptions = Required<JetStreamConnectionOptions>;
export type ReadStreamsOptions = Required<JetStreamStreamsOptions>;

const PREFIX = /^[A-Za-z0-9_-]{1,64}$/;

const CONNECTION_RULES = {
  connection: object('a connection of NATS or options of one', (value) => !Array.isArray(value)),
  prefix: usable(
    'at most 64 letters, digits, _ and -',
    (value) => typeof value === 'string' && PREFIX.test(value),
  ),
  callTimeoutMs: integer(100, MAX_TIMER_MS),
};

const STREAMS_RULES = {
  ...CONNECTION_RULES,
  replicas: integer(1, 5),
  storage: oneOf('file', 'memory'),
  maxPendingMessages: integer(1, Number.MAX_SAFE_INTEGER),
  maxPendingBytes: integer(1, Number.MAX_SAFE_INTEGER),
};

export const readQueueOptions = (given: unknown): ReadOptions =>
  withDefaults(check<JetStreamConnectionOptions>(given, CONNECTION_RULES));

export function readStreamsOptions(given: unknown): ReadStreamsOptions {
  const options = check<JetStreamStreamsOptions>(given, STREAMS_RULES);
  return {
    ...withDefaults(options),
    replicas: options.replicas ?? 1,
    storage: options.storage ?? 'file',
    maxPendingMessages: options.maxPendingMessages ?? 10_000_000,
    maxPendingBytes: options.maxPendingBytes ?? 1024 ** 3,
  };
}

function withDefaults(options: Partial<JetStreamConnectionOptions>): ReadOptions {
  if (options.connection === undefined) {
    throw invalidOption('expected connection', ['connection']);
  }
  return {
    connection: options.connection,
    prefix: options.prefix ?? 'security-events',
    callTimeoutMs: options.callTimeoutMs ?? 30_000,
  };
}

export const isConnection = (
  connection: JetStreamConnectionOptions['connection'],
): connection is NatsConnection => 'subscribe' in connection && 'publish' in connection;
