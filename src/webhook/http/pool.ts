/** Leases connections to requests, and keeps idle ones for a while. */
import type { Dispatcher } from 'undici';
import type { Clock } from '../../runtime/clock.ts';
import type { ConnectInfo, Connection } from './connection.ts';

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Handles the response to one request: undici's callbacks, which get a controller first. */
export interface ResponseHandler {
  readonly isOver: boolean;
  /** Aborted when the response is not wanted any more; for a dispatcher of the host. */
  readonly signal: AbortSignal;
  onRequestStart(): void;
  onResponseStart(controller: unknown, status: number, headers: ResponseHeaders): void;
  onResponseData(controller: unknown, chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(controller: unknown, error: unknown): void;
}

/** A connection for one request. */
export interface Lease {
  /** Sends the request. */
  readonly dispatcher: {
    dispatch(options: Dispatcher.DispatchOptions, handler: ResponseHandler): unknown;
  };
  /** Returns what is known so far. */
  connectInfo(): ConnectInfo;
  /**
   * Must be called once, when the attempt is over. `clean`: the response was read to its end, so the
   * connection can be reused.
   */
  end(how: 'clean' | 'broken'): void;
}

export interface ConnectionPool {
  /** `make` is called if no connection of this key is idle. */
  lease(key: string, make: MakeConnection): Lease;
  /** Destroys all connections, in use or not; resolves when their sockets are closed. */
  close(): Promise<void>;
}

export type MakeConnection = (onLost: () => void) => Connection;

/** Older connections are closed, so that the name is looked up again. */
const MAX_AGE_MS = 600_000;

interface Pooled {
  readonly key: string;
  readonly madeAtMs: number;
  readonly connection: Connection;
  /** Set once it is being destroyed. */
  destroyed?: Promise<void>;
}

/** `maxIdle` counts all keys together; the longest idle connection is closed first. */
export function createConnectionPool(clock: Clock, maxIdle: number): ConnectionPool {
  /** The connection that has been idle longest comes first. A search is cheap, since the list is short. */
  const idle: Pooled[] = [];
  const all = new Set<Pooled>();

  const discard = (pooled: Pooled): Promise<void> => {
    pooled.destroyed ??= pooled.connection.destroy().finally(() => all.delete(pooled));
    return pooled.destroyed;
  };
  /** Takes the one that became idle last: the most likely to be alive. */
  const takeIdle = (key: string): Pooled | undefined => {
    const at = idle.findLastIndex((pooled) => pooled.key === key);
    return at < 0 ? undefined : idle.splice(at, 1)[0];
  };
  const open = (key: string, make: MakeConnection): Pooled => {
    const connection = make(() => {
      const at = idle.indexOf(pooled);
      if (at < 0) return;
      idle.splice(at, 1);
      void discard(pooled);
    });
    const pooled: Pooled = { key, madeAtMs: clock.monotonicMs(), connection };
    all.add(pooled);
    return pooled;
  };
  const release = (pooled: Pooled): void => {
    const isOld = clock.monotonicMs() - pooled.madeAtMs > MAX_AGE_MS;
    const isKept = !isOld && pooled.connection.isConnected;
    if (isKept) idle.push(pooled);
    else void discard(pooled);
    if (idle.length > maxIdle) void discard(idle.shift() as Pooled);
  };

  return {
    lease: (key, make) => {
      const pooled = takeIdle(key) ?? open(key, make);
      return {
        dispatcher: pooled.connection.dispatcher,
        connectInfo: pooled.connection.begin(),
        end: (how) => {
          if (how === 'clean') release(pooled);
          else void discard(pooled);
        },
      };
    },
    close: async () => {
      await Promise.all([...all].map(discard));
    },
  };
}
