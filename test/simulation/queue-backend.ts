/** The queue that the processes of a world share, and its calls in progress. */
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import type { Scenario } from './scenario.ts';

export type QueueKind = 'memory' | 'postgres' | 'sqlite';

export interface Handle {
  readonly queue: MessageQueue;
  /** Drops the handle of a crashed process without closing it. Its claims stay. */
  drop(): void;
}

export interface QueueBackend {
  readonly kind: QueueKind;
  /** Opens a handle for one life of a process. */
  attach(): Handle;
  /** Returns a function that returns whether the next call ran without a concurrent one: results come in any order. */
  watchForOverlap(): () => boolean;
  /** Durable queues: resolves when no call is in progress. */
  readonly untilIdle?: () => Promise<void>;
  readonly setUp?: () => Promise<void>;
  readonly tearDown?: () => Promise<void>;
}

export interface MakeBackend {
  readonly kind: QueueKind;
  readonly make: (clock: FakeClock, scenario: Scenario) => QueueBackend;
}

/** Calls of a memory queue take no time. */
export const memoryBackend: MakeBackend = {
  kind: 'memory',
  make: (clock, { maxPendingMessages }) => {
    const queue = createMemoryQueue({ maxPendingMessages }, clock);
    return {
      kind: 'memory',
      attach: () => ({ queue, drop: () => {} }),
      watchForOverlap: () => () => true,
    };
  },
};
