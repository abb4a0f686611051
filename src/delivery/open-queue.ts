/** How a sender opens its queue. */
import { SecurityEventError } from '../errors.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { initialState } from './circuit-breaker.ts';
import type { DeliveryPolicy } from './retry-policy.ts';
import type { Tracker } from './tracker.ts';

export interface Opening {
  readonly tracker: Tracker;
  readonly policy: DeliveryPolicy;
}

/** Opens the queue, and tells the tracker what waited in it. Rejects with what `open` rejects with. */
export async function openQueue(queue: MessageQueue, { tracker, policy }: Opening): Promise<void> {
  tracker.setBacklog(await queue.open(initialState(policy)));
}

/**
 * Returns a function that opens the queue when it is first needed. It returns nothing once the queue is
 * open; its promise rejects with a SecurityEventError, and the next call tries again.
 */
export function opener(openOnce: () => Promise<void>): () => Promise<void> | undefined {
  let opened: Promise<void> | undefined;
  let isOpen = false;
  const open = async (): Promise<void> => {
    opened ??= openOnce().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    await opened.catch((cause: unknown) => {
      // One for each caller: the error of `send` holds the messages of its call.
      if (cause instanceof SecurityEventError) throw cause.copy();
      throw new SecurityEventError('ERR_QUEUE_FAILED', { cause });
    });
    isOpen = true;
  };
  return () => (isOpen ? undefined : open());
}
