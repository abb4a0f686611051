/** How a sender opens its queue. */
import { SecurityEventError } from '../errors.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { initialState } from './circuit-breaker.ts';
import type { DeliveryPolicy } from './retry-policy.ts';
import type { Tracker } from './tracker.ts';

export interface Opening {
  readonly tracker: Tracker;
  readonly isDelivering: boolean;
  readonly policy: DeliveryPolicy;
}

/** Opens the queue, and tells the tracker what waited in it. Rejects with what `open` rejects with. */
export async function openQueue(
  queue: MessageQueue,
  { tracker, isDelivering, policy }: Opening,
): Promise<void> {
  const backlog = await queue.open(initialState(policy));
  const { dueMessages, lastSequence } = backlog;
  // Now: later nobody can tell messages that are not due yet from those that another process settles.
  const pending =
    isDelivering && dueMessages > 0
      ? await queue.countPending([{ from: 1, to: lastSequence }]).catch(() => dueMessages)
      : 0;
  tracker.setBacklog(backlog, pending);
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
