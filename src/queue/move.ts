/** Moves what a durable queue holds to another durable queue. */
import { invalidOption } from '../option-rules.ts';
import { hasMethods, isObjectLike } from '../own-properties.ts';
import type { ApplicationState, DurableQueue, ItemKind, QueueItem } from './queue.ts';

export type { DurableQueue, QueueItem } from './queue.ts';

const KINDS: readonly ItemKind[] = ['application', 'message', 'dead_letter'];

/** Bounds of one call of `importItems`. A larger item is imported alone. */
const MAX_ITEMS = 500;
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** State of an application that no item describes. A sender overwrites it at its first request. */
const INITIAL_STATE: ApplicationState = {
  health: 'healthy',
  maxMessages: 1,
  maxBytes: 1024 * 1024,
  circuitBreaker: null,
};

/**
 * Reads the delivery state of each application, the waiting messages and the dead letters. They stay in the
 * queue, but damaged ones are set aside. Opens it and does not close it. Close all senders that use it first.
 *
 * @throws SecurityEventError (rejects) `ERR_INVALID_OPTION` for the queue in memory, `ERR_QUEUE_FAILED` while
 * messages are claimed: a sender that was killed keeps its claims until their lease ends, by default a minute. Also
 * rejects like `open` of the queue
 */
export async function* exportQueue(queue: DurableQueue): AsyncGenerator<QueueItem, void, void> {
  checkDurable(queue, 'exportItems');
  await queue.open(INITIAL_STATE);
  for (const kind of KINDS) {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const items: readonly QueueItem[] = await queue.exportItems(kind, after);
      yield* items;
      after = items.at(-1)?.id;
    }
  }
}

/**
 * Stores all items of {@link exportQueue} in another queue, with the number of sends, the age and the
 * due time of each message. Opens the queue and does not close it. Returns the number of items stored.
 *
 * If it fails or is killed, run it again: the queue ignores items that it already has.
 *
 * @param items all of an export, in its order
 * @throws SecurityEventError (rejects) `ERR_INVALID_OPTION` for the queue in memory, for items of the same queue and for others than of an export,
 * `ERR_QUEUE_FULL`. Also rejects like `open` of the queue, and with the error of `items`
 */
export async function importQueue(
  queue: DurableQueue,
  items: AsyncIterable<QueueItem> | Iterable<QueueItem>,
): Promise<number> {
  checkDurable(queue, 'importItems');
  await queue.open(INITIAL_STATE);
  let imported = 0;
  for await (const batch of batchesOf(items)) {
    const added = await queue.importItems(batch);
    if (added === undefined) throw invalidOption('expected items of another queue', ['items']);
    imported += added;
  }
  return imported;
}

/** @throws SecurityEventError `ERR_INVALID_OPTION`, also for the queue in memory */
function checkDurable(queue: unknown, method: 'exportItems' | 'importItems'): void {
  if (hasMethods(queue, method)) return;
  throw invalidOption('expected a queue in SQLite or PostgreSQL', ['queue']);
}

const isItem = (value: unknown): value is QueueItem => {
  if (!isObjectLike(value)) return false;
  const { source, kind, id, application } = value as Partial<QueueItem>;
  const areTexts = typeof source === 'string' && typeof application === 'string';
  return areTexts && KINDS.includes(kind as ItemKind) && Number.isSafeInteger(id);
};

async function* batchesOf(items: AsyncIterable<QueueItem> | Iterable<QueueItem>) {
  let batch: QueueItem[] = [];
  let characters = 0;
  let index = 0;
  for await (const item of items) {
    if (!isItem(item)) throw invalidOption('expected an item of exportQueue', ['items', index]);
    index += 1;
    const length = String(item['body']).length;
    const { source, kind } = batch[0] ?? item;
    const isFull = batch.length === MAX_ITEMS || characters + length > MAX_CHARACTERS;
    if (batch.length > 0 && (isFull || item.source !== source || item.kind !== kind)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(item);
    characters += length;
  }
  if (batch.length > 0) yield batch;
}
