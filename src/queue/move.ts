/** Moves what a queue holds to another queue. */
import { createHash } from 'node:crypto';
import type { ApplicationState, KeyedItem, MessageQueue, QueueItem } from './queue.ts';

export type { MessageQueue, QueueItem } from './queue.ts';

/** Bounds of one call of `importItems`: 500 items, and messages of 4 MiB unless a single one has more. */
const MAX_ITEMS = 500;
const MAX_BYTES = 4 * 1024 * 1024;
const DEAD_LETTERS_PAGE = 100;

/** Of an application that no item describes. A sender writes its own at its first request. */
const INITIAL_STATE: ApplicationState = {
  tier: 'healthy',
  maxMessages: 1,
  maxBytes: 1024 * 1024,
  circuitBreaker: null,
};

/**
 * Reads all that a queue holds, and leaves it there: the delivery state of each application, waiting
 * messages and dead letters. Opens the queue and does not close it. Close all senders that use the
 * queue first.
 *
 * @throws SecurityEventError (rejects) `ERR_QUEUE_FAILED` while a sender has claimed messages, for up
 * to a minute after it was killed; and as `open` of the queue
 */
export async function* exportQueue(queue: MessageQueue): AsyncGenerator<QueueItem, void, void> {
  await queue.open(INITIAL_STATE);
  yield* queue.exportItems();
  let after: string | undefined;
  do {
    const cursor = after === undefined ? {} : { after };
    const page = await queue.listDeadLetters({ limit: DEAD_LETTERS_PAGE, ...cursor });
    for (const letter of page.items) yield { ...letter, kind: 'dead-letter' };
    after = page.next;
  } while (after !== undefined);
}

/**
 * Stores what {@link exportQueue} reads in another queue, with the number of sends, the age and the due
 * time of each message. Opens the queue and does not close it.
 *
 * Run it again after it failed or was killed: the queue ignores the items that it has. Returns the
 * number of items stored.
 *
 * @throws SecurityEventError (rejects) `ERR_QUEUE_FULL`, and as `open` of the queue; what reading the
 * items throws
 */
export async function importQueue(
  queue: MessageQueue,
  items: AsyncIterable<QueueItem> | Iterable<QueueItem>,
): Promise<number> {
  await queue.open(INITIAL_STATE);
  let imported = 0;
  let bytes = 0;
  let batch = new Map<string, KeyedItem>();
  for await (const item of items) {
    const size = item.kind === 'application' ? 0 : item.stored.bytes.length;
    if (batch.size >= MAX_ITEMS || (bytes > 0 && bytes + size > MAX_BYTES)) {
      imported += await queue.importItems([...batch.values()]);
      batch = new Map();
      bytes = 0;
    }
    const key = keyOf(item);
    batch.set(key, { key, item });
    bytes += size;
  }
  if (batch.size > 0) imported += await queue.importItems([...batch.values()]);
  return imported;
}

/** The same for the same item in each export. Two messages with one `messageId` have two ids. */
function keyOf(item: QueueItem): string {
  const hash = createHash('sha256');
  const { kind, applicationId } = item;
  if (item.kind === 'application') {
    hash.update(JSON.stringify([kind, applicationId, item.pausedUntil, item.state]));
  } else {
    const { id, stored } = item;
    hash.update(JSON.stringify([kind, applicationId, id, stored.messageId])).update(stored.bytes);
  }
  return hash.digest('base64url').slice(0, 22);
}
