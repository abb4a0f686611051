import type { MessageTuple } from '../protocol.ts';
import type { Context } from './context.ts';
import { Rejection } from './failure.ts';
import { bodyChecksum, progressChecksum, updateReadiness } from './messages.ts';
import { type Application, toText } from './store.ts';

/** The first sequence of the call, where the others follow; with the closed applications if any. */
export type Accepted =
  | number
  | {
      readonly first: number;
      readonly count: number;
      readonly closed: readonly string[];
    };

/** Stores the entries of open applications, or rejects before anything is stored. */
export function enqueue(
  context: Context,
  entries: readonly MessageTuple[],
  delayMs: number,
): Accepted {
  const { store, bytes, settings } = context;
  const closed = new Set<string>();
  for (const [id] of entries) if (store.find(id)?.tier === 'closed') closed.add(id);
  refuseOverflow(context, closed.size === 0 ? entries : entries.filter(([id]) => !closed.has(id)));
  const due = context.after(delayMs);
  const changed = new Set<Application>();
  const first = store.state.last_sequence + 1;
  let end = 0;
  for (const entry of entries) {
    const body = bytes.subarray(end, end + entry[3]);
    end += entry[3];
    if (closed.has(entry[0])) continue;
    const application = store.ensure(entry[0], settings.initialState);
    insert(context, application, { entry, due, body });
    application.first_due = Math.min(application.first_due ?? due, due);
    if (due > context.nowMs) application.delayed_until = Math.max(application.delayed_until, due);
    changed.add(application);
  }
  for (const application of changed) updateReadiness(context, application);
  if (changed.size > 0) store.announceDue();
  const count = store.state.last_sequence - first + 1;
  return closed.size === 0 ? first : { first, count, closed: [...closed] };
}

function refuseOverflow({ store, settings }: Context, entries: readonly MessageTuple[]): void {
  const { pending, pending_bytes: pendingBytes } = store.state;
  const bytes = entries.reduce((sum, entry) => sum + entry[6], 0);
  let bound: 'maxPendingMessages' | 'maxPendingBytes' | undefined;
  if (pending + entries.length > settings.maxPendingMessages) bound = 'maxPendingMessages';
  else if (pendingBytes + bytes > settings.maxPendingBytes) bound = 'maxPendingBytes';
  if (bound === undefined || entries.length === 0) return;
  const detail = `${entries.length} messages of ${bytes} bytes would pass ${bound} (${settings[bound]})`;
  throw new Rejection('ERR_QUEUE_FULL', detail, { path: [bound] });
}

function insert(
  { store, database, nowMs }: Context,
  application: Application,
  { entry, due, body }: { entry: MessageTuple; due: number; body: Uint8Array },
): void {
  const [, messageId, format, , dateAt, countAt, sizeBytes] = entry;
  store.state.last_sequence += 1;
  const sequence = store.state.last_sequence;
  const { number } = application;
  const progress = { sequence, due, accepted: nowMs, sends: 0, max_messages: null, progress: null };
  const content = {
    message_id: toText(messageId),
    format,
    date_at: dateAt,
    count_at: countAt,
    size_bytes: sizeBytes,
    body,
  };
  database.insert('message', {
    application: number,
    ...progress,
    ...content,
    progress_checksum: progressChecksum(progress),
    body_checksum: bodyChecksum(number, content),
  });
  store.addPending(application, 1, sizeBytes);
}
