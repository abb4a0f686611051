/**
 * An undici Client over the guarded connect: one connection, one request at a time. So whatever is
 * seen of connecting belongs to the request that waits for it.
 */
import type { Client, Dispatcher } from 'undici';
import type { ConnectPhases, GuardedConnect } from './connector.ts';

export interface ConnectionOptions {
  readonly Client: typeof Client;
  readonly origin: string;
  readonly connect: GuardedConnect;
  /** Bytes of response body after which the connection ends. */
  readonly maxResponseBytes: number;
  /** Called each time the connection is lost, whoever ended it. */
  readonly onLost: () => void;
}

export interface Connection {
  readonly dispatcher: Dispatcher;
  readonly isConnected: boolean;
  /** How often it began to connect. */
  readonly connectCount: number;
  /** What has ended of the last connect. */
  readonly phases: ConnectPhases;
  /** What is under way ends, connecting too. Resolves when the socket is closed. */
  destroy(): Promise<void>;
}

/**
 * Shorter than what common receivers grant idle connections (Node and uvicorn 5 s): whoever closes
 * later may write into a connection that is already dead.
 */
const KEEP_ALIVE_MS = 4000;

/** For a receiver that tells what it grants (`Keep-Alive: timeout=`); undici stays 2 s below that. */
const MAX_KEEP_ALIVE_MS = 60_000;

/** Node's default, fixed here: the host may have raised its own for other reasons. */
const MAX_RESPONSE_HEADER_BYTES = 16_384;

/** Connects when first used, and again where the connection was lost before a request went out. */
export function createConnection(options: ConnectionOptions): Connection {
  const { Client: UndiciClient, origin, connect, maxResponseBytes, onLost } = options;
  const ending = new AbortController();
  let isConnected = false;
  let connectCount = 0;
  let phases: ConnectPhases = {};

  const client = new UndiciClient(origin, {
    connect: (target, callback) => {
      connectCount += 1;
      phases = {};
      connect(target, callback, {
        signal: ending.signal,
        onPhase: (phase, ms) => {
          phases = { ...phases, [phase]: ms };
        },
      });
    },
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
    maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    // Its end is the connection's: read or not, nothing larger came in.
    maxResponseSize: maxResponseBytes,
  });
  client.on('connect', () => {
    isConnected = true;
  });
  client.on('disconnect', () => {
    isConnected = false;
    onLost();
  });

  return {
    dispatcher: client,
    get isConnected() {
      return isConnected;
    },
    get connectCount() {
      return connectCount;
    },
    get phases() {
      return phases;
    },
    destroy: async () => {
      // undici does not reach a connection that is still being made.
      ending.abort();
      await client.destroy();
    },
  };
}
