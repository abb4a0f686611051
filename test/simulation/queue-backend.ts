/** The queue that the processes of a world share, and its calls in progress. */
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import type { CallsInProgress } from './calls-in-progress.ts';
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
  /** Opens a handle for one life of a process. */
  attach(): Handle;
  /** Returns the current view. Undefined while the queue is being replaced. */
  view(): QueueView | undefined;
  /** Calls of a durable queue. */
  readonly calls?: CallsInProgress;
  /** A durable queue, as a process sees it that outlives all others. */
  readonly observer?: QueueView;
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
    return { attach: () => ({ queue, drop: () => {} }), view: () => queue };
  },
};
