/** The queue that the processes of a world share: what keeps it, and when nothing is under way in it. */
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import type { Scenario } from './scenario.ts';

export type QueueKind = 'memory' | 'postgres' | 'sqlite';

/** What the books are compared with. */
export type Looked = Pick<MessageQueue, 'stats' | 'listDeadLetters'>;

export interface Handle {
  readonly queue: MessageQueue;
  /** Its process is dead: nobody closes it, and what it claimed stays claimed. */
  drop(): void;
}

export interface Backing {
  readonly kind: QueueKind;
  /** How much later than at once a process may hear of what it may send. */
  readonly hearsLateMs: number;
  /** Absent: the queue's time does not jump with the clock on the wall. */
  readonly isOnWallClock?: true;
  /** What one life of a process has of it. */
  attach(): Handle;
  /** By whom it is looked at; absent while nobody can. */
  look(): Looked | undefined;
  /** Tells whether nothing else was under way since: answers of what was come in any order. */
  alone(): () => boolean;
  /** Of a queue outside of this program: resolves once nothing is under way in it. */
  readonly rest?: () => Promise<void>;
  /** Likewise: as whoever comes after all processes are gone finds it. */
  readonly lookAfterwards?: () => Promise<Looked>;
  readonly begin?: () => Promise<void>;
  readonly end?: () => Promise<void>;
}

export interface MakeBacking {
  readonly kind: QueueKind;
  readonly make: (clock: FakeClock, scenario: Scenario) => Backing;
}

/** Everything in it happens in no time. */
export const inMemory: MakeBacking = {
  kind: 'memory',
  make: (clock, { maxPendingMessages }) => {
    const queue = createMemoryQueue({ maxPendingMessages }, clock);
    return {
      kind: 'memory',
      hearsLateMs: 0,
      attach: () => ({ queue, drop: () => {} }),
      look: () => queue,
      alone: () => () => true,
    };
  },
};
