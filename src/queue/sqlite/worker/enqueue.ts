import type { EnqueueResult, QueueEntry } from '../../queue.ts';
import { toText } from '../../stored-values.ts';
import type { PostedMessage } from '../protocol.ts';
import { Rejection } from './failure.ts';
import { reschedule, storeMessage } from './messages.ts';
import type { Application } from './schema.ts';
import type { Context } from './store.ts';

export type PostedEntry = PostedMessage & Omit<QueueEntry, 'stored'>;

/** Stores the entries of open applications, or rejects before anything is stored. */
export function enqueue(
  context: Context,
  entries: readonly PostedEntry[],
  delayMs: number,
): EnqueueResult {
  const { store, nowMs, bytes, settings } = context;
  const closed = new Set<string>();
  const sizes: number[] = [];
  for (const { applicationId, sizeBytes } of entries) {
    if (store.find(applicationId)?.health === 'closed') closed.add(applicationId);
    else sizes.push(sizeBytes);
  }
  refuseOverflow(context, sizes);
  const due = context.after(delayMs);
  const changed = new Set<Application>();
  const sequences: number[] = [];
  let end = 0;
  for (const { applicationId, messageId, sizeBytes, length, ...entry } of entries) {
    const body = bytes.subarray(end, end + length);
    end += length;
    if (closed.has(applicationId)) continue;
    const application = store.ensure(applicationId, settings.initialState);
    sequences.push(
      storeMessage(context, application, {
        due,
        accepted: nowMs,
        sends: 0,
        max_messages: null,
        retry_state: null,
        message_id: toText(messageId),
        format: entry.format,
        date_at: entry.dateAt,
        count_at: entry.countAt,
        size_bytes: sizeBytes,
        body,
      }),
    );
    application.first_due = Math.min(application.first_due ?? due, due);
    if (due > nowMs) application.delayed_until = Math.max(application.delayed_until, due);
    changed.add(application);
  }
  for (const application of changed) reschedule(context, application);
  if (changed.size > 0) store.announceDue();
  return { sequences, closed: [...closed] };
}

/** @throws Rejection `ERR_QUEUE_FULL` when there is no room for messages of these sizes */
export function refuseOverflow({ store, settings }: Context, sizes: readonly number[]): void {
  const { pending, pending_bytes: pendingBytes } = store.state;
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  let bound: 'maxPendingMessages' | 'maxPendingBytes' | undefined;
  if (pending + sizes.length > settings.maxPendingMessages) bound = 'maxPendingMessages';
  else if (pendingBytes + bytes > settings.maxPendingBytes) bound = 'maxPendingBytes';
  if (bound === undefined || sizes.length === 0) return;
  const detail = `${sizes.length} messages of ${bytes} bytes would pass ${bound} (${settings[bound]})`;
  throw new Rejection('ERR_QUEUE_FULL', detail, { path: [bound] });
}
