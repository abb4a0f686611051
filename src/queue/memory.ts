/** A queue in the memory of this process. */
import { systemClock } from '../runtime/clock.ts';
import { type MemoryQueueOptions, readMemoryOptions } from './memory/memory-options.ts';
import { MemoryQueue } from './memory/memory-queue.ts';
import type { QueueClock } from './memory/moment.ts';
import type { MessageQueue } from './queue.ts';

export type { MemoryQueueOptions } from './memory/memory-options.ts';
export type { MessageQueue } from './queue.ts';

/**
 * Makes a queue whose durability is `'memory'`: what it accepted ends with the process, and `close`
 * hands back what was not delivered (D79). It keeps no timer and no handle. Give no second argument:
 * the clock is there for tests.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createMemoryQueue(
  options: MemoryQueueOptions = {},
  clock: QueueClock = systemClock,
): MessageQueue {
  return new MemoryQueue(readMemoryOptions(options), clock);
}
