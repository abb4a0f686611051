/** The queue that the processes of a world share, and its calls in progress. */
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import type { Scenario } from './scenario.ts';

export type QueueKind = 'memory' | 'postgres' | 'sqlite';

/** The methods that the expected state is compared with. */
export type QueueView = Pick<MessageQueue, 'stats' | 'listDeadLetters'>;

export interface Handle {
  readonly queue: MessageQueue;
  /** Drops the handle of a crashed process without closing it. Its claims stay. */
  drop(): void;
}

export interface QueueBackend {
  readonly kind: QueueKind;
  /** Opens a handle for one life of a process. */
  attach(): Handle;
  /** Returns the current view. Undefined while the queue is being replaced. */
  view(): QueueView | undefined;
  /** Returns a function that returns whether the next call ran without a concurrent one: results come in any order. */
  watchForOverlap(): () => boolean;
  /** Durable queues: resolves when no call is in progress. */
  readonly untilIdle?: () => Promise<void>;
  /** Durable queues: the view of a process that opens the queue after all others ended. */
  readonly viewAtEnd?: () => Promise<QueueView>;
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
      view: () => queue,
      watchForOverlap: () => () => true,
    };
  },
};
