/** Exports and imports what the queue holds. Times of items are the machine's. */
import { type MessageTuple, type StoredState, toWhole } from '../protocol.ts';
import { stateOf } from './claim.ts';
import type { Context } from './context.ts';
import { evict } from './dead-letters.ts';
import { refuseOverflow } from './enqueue.ts';
import { Rejection } from './failure.ts';
import {
  bodyChecksum,
  isIntact,
  type Progress,
  readMessages,
  setAside,
  storeMessage,
  updateReadiness,
} from './messages.ts';
import type { DeadLetterRow, MessageRow } from './schema.ts';
import { setState } from './settle.ts';
import { type Application, fromText, toText } from './store.ts';

const PAGE = 100;

export interface ExportedApplication {
  readonly number: number;
  readonly applicationId: string;
  readonly state: StoredState;
  readonly pausedUntil: number;
}

function refuseClaims({ store, database }: Context): void {
  store.flushApplications();
  if (database.get('select number from application where claim is not null limit 1') === undefined)
    return;
  const detail = 'messages are claimed: close the senders, or wait until the leases expire';
  throw new Rejection('ERR_QUEUE_FAILED', detail);
}

/** Returns the page of applications after a number; empty after the last one. */
export function exportApplications(context: Context, after: number): ExportedApplication[] {
  refuseClaims(context);
  const { store, database } = context;
  return database
    .all<Application>(
      'select number from application where number > ? order by number limit ?',
      after,
      PAGE,
    )
    .map(({ number }) => {
      const application = store.byNumber(number) as Application;
      const { id: applicationId, not_before: notBefore } = application;
      const pausedUntil = Math.max(0, notBefore - store.state.clock_offset);
      return { number, applicationId, state: stateOf(application), pausedUntil };
    });
}

/** A waiting message; its body follows those before it in the buffer of the page. */
export type ExportedMessage = Omit<MessageRow, 'body' | 'application'> & {
  readonly applicationId: string;
  readonly length: number;
};

/** Returns the page of messages after a sequence; empty after the last one. Sets damaged ones aside. */
export function exportMessages(
  context: Context,
  after: number,
): { readonly messages: readonly ExportedMessage[]; readonly bodies: Uint8Array } {
  refuseClaims(context);
  const { store } = context;
  const { clock_offset: offset } = store.state;
  for (let from = after; ; ) {
    const condition = 'sequence > ? order by sequence limit ?';
    const page = readMessages(context, condition, from, PAGE);
    const rows = page.filter((row) => isExported(context, row));
    from = page.at(-1)?.sequence ?? from;
    if (rows.length === 0 && page.length > 0) continue;
    const messages = rows.map(({ body, application, ...row }) => ({
      ...row,
      applicationId: store.byNumber(application)?.id ?? '',
      message_id: fromText(row.message_id),
      accepted: row.accepted - offset,
      due: row.due - offset,
      length: body.length,
    }));
    return { messages, bodies: context.join(rows.map(({ body }) => body)) };
  }
}

function isExported(context: Context, row: MessageRow): boolean {
  const application = context.store.byNumber(row.application);
  if (application !== undefined && isIntact(row)) return true;
  setAside(context, row);
  if (application !== undefined) updateReadiness(context, application);
  return false;
}

/** An item to import. Its body follows those of the items before it. */
export type ImportedItem = { readonly key: string; readonly entry: MessageTuple } & (
  | { readonly kind: 'application'; readonly state: StoredState; readonly pausedUntil: number }
  | ({ readonly kind: 'message' } & Omit<Progress, 'sequence'>)
  | ({ readonly kind: 'dead-letter' } & Pick<
      DeadLetterRow,
      'accepted' | 'died' | 'sends' | 'reason' | 'last_attempt'
    >)
);

/** Stores the items whose key is new, or rejects before any is stored. Returns their number. */
export function importItems(context: Context, items: readonly ImportedItem[]): number {
  const { store, database, settings } = context;
  let end = 0;
  const added: { readonly item: ImportedItem; readonly body: Uint8Array }[] = [];
  for (const item of items) {
    const start = end;
    end += item.entry[3];
    if (database.get('select key from imported where key = ?', toText(item.key)) !== undefined)
      continue;
    added.push({ item, body: context.bytes.subarray(start, end) });
  }
  const messages = added.filter(({ item }) => item.kind === 'message');
  refuseOverflow(
    context,
    messages.map(({ item }) => item.entry),
  );
  for (const { item, body } of added) {
    database.insert('imported', { key: toText(item.key) });
    const application = store.ensure(item.entry[0], settings.initialState);
    storeItem(context, application, { item, body });
    updateReadiness(context, application);
  }
  evict(context);
  store.announceDue();
  return added.length;
}

function storeItem(
  context: Context,
  application: Application,
  { item, body }: { readonly item: ImportedItem; readonly body: Uint8Array },
): void {
  const { store, database } = context;
  const { clock_offset: offset } = store.state;
  if (item.kind === 'application') {
    setState(application, item.state);
    application.not_before = toWhole(item.pausedUntil + offset);
  } else if (item.kind === 'message') {
    const due = toWhole(item.due + offset);
    const progress = { ...item, due, accepted: toWhole(item.accepted + offset) };
    storeMessage(context, application, { progress, entry: item.entry, body });
    application.first_due = Math.min(application.first_due ?? due, due);
  } else {
    const { accepted, died, sends, reason, last_attempt } = item;
    const [, messageId, format, , date_at, count_at, size_bytes] = item.entry;
    const content = { message_id: toText(messageId), format, date_at, count_at, size_bytes, body };
    const { number } = application;
    database.insert('dead_letter', {
      id: store.nextNumber(),
      application: number,
      accepted: toWhole(accepted),
      died: toWhole(died),
      sends,
      reason,
      last_attempt,
      ...content,
      body_checksum: bodyChecksum(number, content),
    });
    store.state.dead_bytes += size_bytes;
    application.dead += 1;
  }
}
