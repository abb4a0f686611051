/** What a queue in memory holds as items of an export, and back. */
import { SecurityEventError } from '../../errors.ts';
import type {
  ApplicationItem,
  ApplicationState,
  KeyedItem,
  MessageItem,
  QueueItem,
  StoredMessage,
} from '../queue.ts';
import type { Application } from './application.ts';
import type { QueueTime } from './queue-time.ts';
import type { MemoryStore } from './store.ts';
import { storedMessages, WaitingMessage } from './waiting-messages.ts';

/** @throws SecurityEventError `ERR_QUEUE_FAILED` while messages are claimed */
export function* itemsOf(
  store: MemoryStore,
  at: QueueTime,
): Iterable<ApplicationItem | MessageItem> {
  const applications = [...store.all()];
  if (applications.some(({ claim }) => claim !== undefined)) {
    const detail = 'messages are claimed: close the senders, or wait until the leases expire';
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }
  const toEpoch = (ms: number): number => Math.max(0, ms + at.epochMs - at.nowMs);
  for (const { id, state, pausedUntilMs } of applications) {
    const pausedUntil = toEpoch(pausedUntilMs);
    yield { kind: 'application', applicationId: id, state, pausedUntil };
  }
  const messages = applications.flatMap(({ id, waiting }) =>
    [...waiting].map((message) => ({ applicationId: id, message })),
  );
  messages.sort((one, other) => one.message.sequence - other.message.sequence);
  for (const { applicationId, message } of messages) {
    yield {
      kind: 'message',
      applicationId,
      id: String(message.sequence),
      stored: storedMessages([message])[0] as StoredMessage,
      sizeBytes: message.sizeBytes,
      sends: message.sends,
      maxMessages: message.maxMessages ?? null,
      progress: message.progress,
      acceptedAt: toEpoch(message.acceptedMs),
      dueAt: toEpoch(message.dueMs),
    };
  }
}

/** Returns the number of items that were new. */
export function storeItems(
  store: MemoryStore,
  items: readonly KeyedItem[],
  { initialState, at }: { readonly initialState: ApplicationState; readonly at: QueueTime },
): number {
  const added = items.filter(({ key }) => !store.importedKeys.has(key));
  const messages = added.flatMap(({ item }) => (item.kind === 'message' ? [item] : []));
  store.reserve(
    messages.length,
    messages.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  );
  for (const { key, item } of added) {
    store.importedKeys.add(key);
    const application = store.ensure(item.applicationId, initialState);
    storeItem(store, item, { application, at });
    store.update(application, at.nowMs);
  }
  return added.length;
}

function storeItem(
  store: MemoryStore,
  item: QueueItem,
  { application, at }: { readonly application: Application; readonly at: QueueTime },
): void {
  const fromEpoch = (ms: number): number => Math.floor(ms + at.nowMs - at.epochMs);
  if (item.kind === 'application') {
    application.reopen(item.state);
    application.update(item.state, fromEpoch(item.pausedUntil));
    return;
  }
  const isDead = item.kind === 'dead-letter';
  if (!isDead) store.lastSequence += 1;
  const message = new WaitingMessage(item, item.stored.bytes.toString('latin1'), {
    sequence: store.lastSequence,
    nowMs: fromEpoch(item.acceptedAt),
    dueMs: isDead ? 0 : fromEpoch(item.dueAt),
  });
  message.sends = item.sends;
  application.counts.accepted += 1;
  if (isDead) {
    const { reason, lastAttempt, acceptedAt, diedAt } = item;
    store.dead.add({ application, message, reason, lastAttempt, acceptedAt, diedAt });
    return;
  }
  message.maxMessages = item.maxMessages ?? undefined;
  message.progress = item.progress;
  application.waiting.putBack(message);
}
