/** Who gets which connection, and how long one is kept. */
import type { Dispatcher } from 'undici';
import type { Clock } from '../../system/clock.ts';
import type { Connection } from './connection.ts';
import type { ConnectPhases } from './connector.ts';
import { createIdleList } from './idle-list.ts';

/** A connection for one request. */
export interface Lease {
  readonly dispatcher: Dispatcher;
  /** What is known by now. */
  course(): ConnectCourse;
  /**
   * To be called once, when the attempt is over. `clean`: the response was read to its end, so that
   * the connection may serve another request.
   */
  end(how: 'clean' | 'broken'): void;
}

/** How a request got its connection. */
export interface ConnectCourse {
  /** Empty where it was reused. */
  readonly phases: ConnectPhases;
  /** Absent where nobody tells. */
  readonly reusedConnection?: boolean;
}

export interface ConnectionPool {
  /** `make` is called where no connection of this key is idle. */
  lease(key: string, make: MakeConnection): Lease;
  /** Destroys all connections, in use or not; resolves when their sockets are closed. */
  close(): Promise<void>;
}

export type MakeConnection = (onLost: () => void) => Connection;

/** A connection is given up some time, so that the host's name is looked up again. */
const MAX_AGE_MS = 600_000;

interface Pooled {
  readonly key: string;
  readonly madeAtMs: number;
  readonly connection: Connection;
}

/** `maxIdle` counts all keys together; the longest idle goes first. */
export function createConnectionPool(clock: Clock, maxIdle: number): ConnectionPool {
  const idle = createIdleList<Pooled>(maxIdle);
  const all = new Set<Pooled>();

  const discard = async (pooled: Pooled): Promise<void> => {
    await pooled.connection.destroy();
    all.delete(pooled);
  };
  const open = (key: string, make: MakeConnection): Pooled => {
    const connection = make(() => {
      if (idle.remove(pooled)) void discard(pooled);
    });
    const pooled: Pooled = { key, madeAtMs: clock.monotonicMs(), connection };
    all.add(pooled);
    return pooled;
  };
  const giveBack = (pooled: Pooled): void => {
    const isOld = clock.monotonicMs() - pooled.madeAtMs > MAX_AGE_MS;
    const isKept = !isOld && pooled.connection.isConnected;
    const surplus = isKept ? idle.add(pooled) : pooled;
    if (surplus !== undefined) void discard(surplus);
  };

  return {
    lease: (key, make) => {
      const pooled = idle.take(key) ?? open(key, make);
      const { connection } = pooled;
      return {
        dispatcher: connection.dispatcher,
        course: courseFromNow(connection),
        end: (how) => {
          if (how === 'clean') giveBack(pooled);
          else void discard(pooled);
        },
      };
    },
    close: async () => {
      await Promise.all([...all].map(discard));
    },
  };
}

/** undici connects again where an idle connection turns out to be dead before anything is written. */
function courseFromNow(connection: Connection): () => ConnectCourse {
  const countBefore = connection.connectCount;
  return () => {
    const reusedConnection = countBefore > 0 && connection.connectCount === countBefore;
    return { phases: reusedConnection ? {} : connection.phases, reusedConnection };
  };
}
