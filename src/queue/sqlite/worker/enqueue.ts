import type { MessageTuple } from '../protocol.ts';
import type { Context } from './context.ts';
import { Rejection } from './failure.ts';
import { storeMessage, updateReadiness } from './messages.ts';
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
  const { store, nowMs, bytes, settings } = context;
  const closed = new Set<string>();
  for (const [id] of entries) if (store.find(id)?.tier === 'closed') closed.add(id);
  const open = closed.size === 0 ? entries : entries.filter(([id]) => !closed.has(id));
  refuseOverflow(
    context,
    open.map((entry) => entry[6]),
  );
  const due = context.after(delayMs);
  const changed = new Set<Application>();
  const first = store.state.last_sequence + 1;
  let end = 0;
  for (const entry of entries) {
    const body = bytes.subarray(end, end + entry[3]);
    end += entry[3];
    if (closed.has(entry[0])) continue;
    const application = store.ensure(entry[0], settings.initialState);
    const [, messageId, format, , date_at, count_at, size_bytes] = entry;
    const content = { message_id: toText(messageId), format, date_at, count_at, size_bytes, body };
    const progress = { due, accepted: nowMs, sends: 0, max_messages: null, progress: null };
    storeMessage(context, application, { ...progress, ...content });
    application.first_due = Math.min(application.first_due ?? due, due);
    if (due > nowMs) application.delayed_until = Math.max(application.delayed_until, due);
    changed.add(application);
  }
  for (const application of changed) updateReadiness(context, application);
  if (changed.size > 0) store.announceDue();
  const count = store.state.last_sequence - first + 1;
  return closed.size === 0 ? first : { first, count, closed: [...closed] };
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
