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
  const idle = createIdleList<Pooled>(maxIdle);
  const all = new Set<Pooled>();

  const discard = (pooled: Pooled): Promise<void> => {
    pooled.destroyed ??= pooled.connection.destroy().finally(() => all.delete(pooled));
    return pooled.destroyed;
  };
  const open = (key: string, make: MakeConnection): Pooled => {
    const connection = make(() => {
      if (idle.remove(pooled)) void discard(pooled);
    });
    const pooled: Pooled = { key, madeAtMs: clock.monotonicMs(), connection };
    all.add(pooled);
    return pooled;
  };
  const release = (pooled: Pooled): void => {
    const isOld = clock.monotonicMs() - pooled.madeAtMs > MAX_AGE_MS;
    const isKept = !isOld && pooled.connection.isConnected;
    const surplus = isKept ? idle.add(pooled) : pooled;
    if (surplus !== undefined) void discard(surplus);
  };

  return {
    lease: (key, make) => {
      const pooled = idle.take(key) ?? open(key, make);
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

export interface IdleList<Item> {
  /** Takes the item of this key that became idle last: the most likely to be alive. */
  take(key: string): Item | undefined;
  /** Returns the longest idle item, removed, if there are more than `maxItems`. */
  add(item: Item): Item | undefined;
  /** Returns whether the item was idle. */
  remove(item: Item): boolean;
}

export function createIdleList<Item extends { readonly key: string }>(
  maxItems: number,
): IdleList<Item> {
  // In insertion order: the longest idle comes first.
  const all = new Set<Item>();
  const byKey = new Map<string, Item[]>();

  const remove = (item: Item): boolean => {
    if (!all.delete(item)) return false;
    const ofKey = byKey.get(item.key) ?? [];
    ofKey.splice(ofKey.lastIndexOf(item), 1);
    if (ofKey.length === 0) byKey.delete(item.key);
    return true;
  };

  return {
    take: (key) => {
      const item = byKey.get(key)?.at(-1);
      if (item !== undefined) remove(item);
      return item;
    },
    add: (item) => {
      all.add(item);
      const ofKey = byKey.get(item.key);
      if (ofKey === undefined) byKey.set(item.key, [item]);
      else ofKey.push(item);
      if (all.size <= maxItems) return undefined;
      const [oldest] = all;
      if (oldest !== undefined) remove(oldest);
      return oldest;
    },
    remove,
  };
}
