/** A queue in the memory of this process. */
import { readOptions } from '../option-rules.ts';
import { systemClock } from '../runtime/clock.ts';
import { MemoryQueue, type QueueClock } from './memory/memory-queue.ts';
import { MEMORY_OPTIONS, type MemoryQueueOptions } from './memory/store.ts';
import type { MessageQueue } from './queue.ts';

export type { MemoryQueueOptions } from './memory/store.ts';
export type { MessageQueue } from './queue.ts';

/**
 * Creates a queue whose durability is `'memory'`: its messages are lost when the process ends, and `close`
 * returns those that were not delivered. It does not keep the process alive. The second argument is for tests.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createMemoryQueue(
  options: MemoryQueueOptions = {},
  clock: QueueClock = systemClock,
): MessageQueue {
  return new MemoryQueue(readOptions(options, MEMORY_OPTIONS), clock);
}
