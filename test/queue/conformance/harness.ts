/** What the suite needs of a queue that it tests. */
import type { MessageQueue } from '../../../src/queue/queue.ts';

export interface QueueBounds {
  readonly maxPendingBytes?: number;
  readonly maxPendingMessages?: number;
}

export interface QueueUnderTest {
  /** On new storage, and not opened yet. */
  readonly queue: MessageQueue;
  /** Advances the queue's time by exactly `ms`. */
  advance(ms: number): Promise<void>;
  /** Durable queues: a new handle on the same storage, which is not opened yet. The old one is no longer used. */
  reopen?(how: 'closed' | 'crashed'): Promise<MessageQueue>;
  /** Durable queues: another handle beside the first, which is not opened yet. */
  join?(): Promise<MessageQueue>;
  dispose(): Promise<void>;
}

export interface QueueHarness {
  create(bounds?: QueueBounds): Promise<QueueUnderTest>;
  /** Durable queues also share their storage among several handles. */
  readonly isDurable: boolean;
  /** Number of sequences of calls in the random run. */
  readonly randomRuns: number;
}
