/** A queue in the memory of this process. */
import { check, integer, type Rules } from '../option-rules.ts';
import { systemClock } from '../runtime/clock.ts';
import { MemoryQueue } from './memory/memory-queue.ts';
import type { QueueClock } from './memory/queue-time.ts';
import { DEFAULT_BOUNDS } from './memory/store.ts';
import type { MessageQueue } from './queue.ts';

export type { MessageQueue } from './queue.ts';

export interface MemoryQueueOptions {
  /**
   * Limits the bytes that wait, counted as they are sent. `enqueue` rejects with `ERR_QUEUE_FULL` above it.
   * The heap needs about 300 bytes more for each message. From 1; default 67108864 (64 MiB).
   */
  readonly maxPendingBytes?: number;
  /** Limits the number of messages that wait. From 1; default 100000. */
  readonly maxPendingMessages?: number;
  /**
   * Limits the bytes of dead letters. Above it the oldest are discarded as `evicted`. From 0, which keeps
   * none; default 16777216 (16 MiB).
   */
  readonly maxDeadBytes?: number;
}

const MAX = Number.MAX_SAFE_INTEGER;

const RULES: Rules<keyof MemoryQueueOptions> = {
  maxPendingBytes: integer(1, MAX),
  maxPendingMessages: integer(1, MAX),
  maxDeadBytes: integer(0, MAX),
};

/**
 * Creates a queue whose durability is `'memory'`: its messages end with the process, and `close` hands
 * back those that were not delivered. It has no timers and no handles. The second argument is for tests.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createMemoryQueue(
  options: MemoryQueueOptions = {},
  clock: QueueClock = systemClock,
): MessageQueue {
  const {
    maxPendingBytes = DEFAULT_BOUNDS.maxPendingBytes,
    maxPendingMessages = DEFAULT_BOUNDS.maxPendingMessages,
    maxDeadBytes = DEFAULT_BOUNDS.maxDeadBytes,
  } = check<MemoryQueueOptions>(options, RULES);
  return new MemoryQueue({ maxPendingBytes, maxPendingMessages, maxDeadBytes }, clock);
}
