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
import type { Content } from './content.ts';
import type { Moment } from './moment.ts';
import { storedMessages, type WaitingMessage, waitingMessage } from './waiting-message.ts';

/** @throws SecurityEventError `ERR_QUEUE_FAILED` while messages are claimed */
export function* itemsOf(content: Content, at: Moment): Iterable<ApplicationItem | MessageItem> {
  const applications = [...content.all()];
  if (applications.some(({ claim }) => claim !== undefined)) {
    const detail = 'messages are claimed: close the senders, or wait until the leases expire';
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }
  const toEpoch = (ms: number): number => Math.max(0, ms + at.epochMs - at.nowMs);
  for (const { id, state, notBeforeMs } of applications) {
    const pausedUntil = toEpoch(notBeforeMs);
    yield { kind: 'application', applicationId: id, state, pausedUntil };
  }
  const messages = applications.flatMap(({ id, waiting }) => {
    const all = waiting.takeFirst(Number.POSITIVE_INFINITY);
    for (const message of all) waiting.putBack(message);
    return all.map((message) => ({ applicationId: id, message }));
  });
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
  content: Content,
  items: readonly KeyedItem[],
  { initialState, at }: { readonly initialState: ApplicationState; readonly at: Moment },
): number {
  const added = items.filter(({ key }) => !content.importedKeys.has(key));
  const messages = added.flatMap(({ item }) => (item.kind === 'message' ? [item] : []));
  const bytes = messages.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  content.room.take(messages.length, bytes);
  for (const { key, item } of added) {
    content.importedKeys.add(key);
    const application = content.ensure(item.applicationId, initialState);
    storeItem(content, item, { application, at });
    content.place(application, at.nowMs);
  }
  return added.length;
}

function storeItem(
  content: Content,
  item: QueueItem,
  { application, at }: { readonly application: Application; readonly at: Moment },
): void {
  const fromEpoch = (ms: number): number => Math.floor(ms + at.nowMs - at.epochMs);
  if (item.kind === 'application') {
    application.reopen(item.state);
    application.write({ ...item.state, pauseMs: 0 }, fromEpoch(item.pausedUntil));
    return;
  }
  const isDead = item.kind === 'dead-letter';
  const message: WaitingMessage = waitingMessage(item, {
    sequence: isDead ? 0 : content.nextSequence(1),
    nowMs: fromEpoch(item.acceptedAt),
    dueMs: isDead ? 0 : fromEpoch(item.dueAt),
  });
  message.sends = item.sends;
  application.counts.accepted += 1;
  if (item.kind === 'dead-letter') {
    const { reason, lastAttempt, acceptedAt, diedAt } = item;
    content.dead.add({ application, message, reason, lastAttempt, acceptedAt, diedAt });
    return;
  }
  message.maxMessages = item.maxMessages ?? undefined;
  message.progress = item.progress;
  application.waiting.putBack(message);
}
