/** The rows of waiting messages, with their checksums. */
import { crc32 } from 'node:zlib';
import type { DeadReason, Format } from '../../queue.ts';
import { fromText } from '../../stored-values.ts';
import type { PostedMessage } from '../protocol.ts';
import {
  type Application,
  CONTENT_COLUMNS,
  type ContentRow,
  MESSAGE_COLUMNS,
  type MessageRow,
} from './schema.ts';
import type { SqlValue } from './sqlite-library.ts';
import type { Context, Store } from './store.ts';

/** The columns that `progress_checksum` covers. A retry, or the end of a lease, changes some of them. */
export type Progress = Pick<
  MessageRow,
  'sequence' | 'due' | 'accepted' | 'sends' | 'max_messages' | 'retry_state'
>;

const PROGRESS = 'sequence, due, accepted, sends, max_messages, retry_state';

export const progressChecksum = (row: Progress): number =>
  crc32(
    `${row.sequence} ${row.due} ${row.accepted} ${row.sends} ${row.max_messages} ${row.retry_state}`,
  );

export function bodyChecksum(application: number, row: Omit<ContentRow, 'body_checksum'>): number {
  const { format, date_at: dateAt, count_at: countAt, size_bytes: sizeBytes, body } = row;
  const start = crc32(
    `${application} ${format} ${dateAt} ${countAt} ${sizeBytes} ${row.message_id}`,
  );
  // The peer's empty blobs have no memory: for them zlib returns 0 instead of `start`.
  return body.length === 0 ? start : crc32(body, start);
}

export const readMessages = (
  { database }: Context,
  condition: string,
  ...values: SqlValue[]
): MessageRow[] => {
  const sql = `select ${MESSAGE_COLUMNS.join()} from message where ${condition}`;
  return database.allNamed(MESSAGE_COLUMNS, sql, ...values);
};

/** Returns the fields of a row that are posted, without its bytes. */
export const postedOf = (row: ContentRow): PostedMessage => ({
  messageId: fromText(row.message_id),
  format: row.format as Format,
  dateAt: row.date_at,
  countAt: row.count_at,
  length: row.body.length,
});

type NewMessage = Omit<Progress, 'sequence'> & Omit<ContentRow, 'body_checksum'>;

export function storeMessage(
  { store, database }: Context,
  application: Application,
  message: NewMessage,
): number {
  const { due, accepted, sends, max_messages, retry_state } = message;
  const { message_id, format, date_at, count_at, size_bytes, body } = message;
  store.state.last_sequence += 1;
  const sequence = store.state.last_sequence;
  const progressed = { sequence, due, accepted, sends, max_messages, retry_state };
  database.insert('message', {
    sequence,
    application: application.number,
    due,
    accepted,
    sends,
    max_messages,
    retry_state,
    progress_checksum: progressChecksum(progressed),
    message_id,
    format,
    date_at,
    count_at,
    size_bytes,
    body_checksum: bodyChecksum(application.number, message),
    body,
  });
  store.addPending(application, 1, size_bytes);
  return sequence;
}

export const isIntact = (row: MessageRow): boolean =>
  progressChecksum(row) === row.progress_checksum &&
  bodyChecksum(row.application, row) === row.body_checksum;

/** Moves a damaged row to `damaged_message`, and counts its message as damaged. */
export function setAside({ database, store, nowMs }: Context, row: MessageRow): void {
  const { sequence, application: number, sends, message_id, body } = row;
  const kept = { sequence, application: number, sends, message_id, body };
  database.insert('damaged_message', { ...kept, found_at: nowMs });
  database.run('delete from message where sequence = ?', sequence);
  const application = store.byNumber(number);
  if (application === undefined) return;
  store.addPending(application, -1, 0);
  store.addDamaged(application, 1);
}

export function writeProgress({ database }: Context, row: Progress): void {
  const { sequence, due, sends, max_messages, retry_state } = row;
  const progress_checksum = progressChecksum(row);
  const changed = { due, sends, max_messages, retry_state, progress_checksum };
  database.update('message', changed, ['sequence', sequence]);
}

export const readProgress = (
  { database }: Context,
  sequence: number,
): (Progress & { readonly size_bytes: number }) | undefined =>
  database.get(`select ${PROGRESS}, size_bytes from message where sequence = ?`, sequence);

/**
 * Makes delayed messages due if they fill a claim, and updates when the application can be claimed. Must be
 * called after each change to its messages, state or claim.
 */
export function reschedule(context: Context, application: Application): void {
  endDelaysIfClaimFull(context, application, context.nowMs);
  context.store.updateReadyAt(application);
}

/** Makes delayed messages due if the waiting messages fill a claim. */
export function endDelaysIfClaimFull(
  context: Context,
  application: Application,
  nowMs: number,
): void {
  const waiting = application.pending - application.claimed;
  if (application.delayed_until <= nowMs || waiting < application.max_messages) return;
  // Messages that wait for another attempt were sent before, and keep their time.
  const delayed = context.database.all<Progress>(
    `select ${PROGRESS} from message where application = ? and due > ? and due <= ? and sends = 0`,
    application.number,
    nowMs,
    application.delayed_until,
  );
  application.delayed_until = nowMs;
  for (const row of delayed) writeProgress(context, { ...row, due: nowMs });
  if (delayed.length > 0) application.first_due = Math.min(application.first_due ?? nowMs, nowMs);
}

/** Updates `first_due` from the messages. While there is a claim, `first_due` is not used. */
export function refreshFirstDue(store: Store, application: Application): void {
  if (application.claim !== null) return;
  let first = firstDue(store, application);
  if (first === undefined) {
    recount(store, application);
    first = firstDue(store, application);
  }
  application.first_due = first ?? null;
}

/** Returns null if no message waits, and undefined if the index, the messages and their count disagree. */
function firstDue({ database }: Store, application: Application): number | null | undefined {
  const { number, pending } = application;
  const entry = database.get<Progress>(
    'select sequence, due from message where application = ? order by due, sequence limit 1',
    number,
  );
  if (entry === undefined) return pending === 0 ? null : undefined;
  const row = database.get<MessageRow>(
    'select application, due from message where sequence = ?',
    entry.sequence,
  );
  if (row?.application !== number || row.due !== entry.due) return undefined;
  // A damaged time may be too large to be stored.
  return Math.min(Math.max(entry.due, 0), Number.MAX_SAFE_INTEGER);
}

/** Rebuilds the index, and corrects the application's count of waiting messages. */
function recount(store: Store, application: Application): void {
  const { database } = store;
  database.exec('reindex message');
  const found = database.number(
    'select count(*) from message not indexed where application = ?',
    application.number,
  );
  const missing = application.pending - found;
  store.addPending(application, -missing, 0);
  store.addDamaged(application, Math.max(0, missing));
}

export interface Death {
  readonly reason: DeadReason;
  /** JSON. */
  readonly lastAttempt: string;
  /** Milliseconds since the epoch; default: now. */
  readonly diedAt?: number;
}

/** Makes a dead letter of a message. Must be followed by `evict` and `reschedule`. */
export function moveToDeadLetters(
  { database, store, nowMs }: Context,
  application: Application,
  dying: Pick<MessageRow, 'sequence' | 'sends' | 'size_bytes'> & Death,
): void {
  const { sequence, size_bytes } = dying;
  const { clock_offset: offset } = store.state;
  // People see the times of dead letters, so these are times of the machine's clock.
  database.run(
    `insert into dead_letter
     select ?, application, accepted - ?, ?, ?, ?, ?, ${CONTENT_COLUMNS} from message where sequence = ?`,
    store.nextNumber(),
    offset,
    dying.diedAt ?? nowMs - offset,
    dying.sends,
    dying.reason,
    dying.lastAttempt,
    sequence,
  );
  database.run('delete from message where sequence = ?', sequence);
  store.addPending(application, -1, -size_bytes);
  store.state.dead_bytes += size_bytes;
  application.dead += 1;
}
