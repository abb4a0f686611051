/** Exports and imports what the queue holds. */
import {
  type EntryTuple,
  type ExportedRow,
  type ImportedRow,
  type Operations,
  stateTuple,
  toWhole,
} from '../protocol.ts';
import { bodyChecksum } from './checksum.ts';
import { COLUMNS, isIntact, type MessageTuple, type Outgoing, setAside } from './claim.ts';
import { evict } from './dead-letters.ts';
import { insertMessage, refuseOverflow } from './enqueue.ts';
import { Rejection } from './failure.ts';
import { fromText, toText } from './text.ts';
import type { Application, Moment, Transaction } from './transaction.ts';
import { place, writeProgress } from './waiting.ts';

const PAGE = 100;

/** The page after an item; empty after the last one. */
export function exportPage(
  transaction: Transaction,
  { kind, after }: Operations['exportPage'][0],
  { at, send }: Outgoing,
): readonly ExportedRow[] {
  transaction.flushApplications();
  const { database } = transaction;
  if (database.get('select number from application where claim is not null limit 1')) {
    const detail = 'messages are claimed: close the senders, or wait until the leases expire';
    throw new Rejection('ERR_QUEUE_FAILED', detail);
  }
  if (kind === 'message') return messagesAfter(transaction, after, { at, send });
  return database
    .all('select number from application where number > ? order by number limit ?', after, PAGE)
    .map(({ number }) => {
      const { id, not_before, ...application } = transaction.byNumber(
        Number(number),
      ) as Application;
      const state = {
        tier: application.tier,
        maxMessages: application.max_messages,
        maxBytes: application.max_bytes,
        circuitBreaker: JSON.parse(application.circuit_breaker),
      };
      return { kind, id: String(number), applicationId: id, state, pausedUntil: not_before };
    });
}

/** Intact messages. A damaged one is set aside, as in a claim. */
function messagesAfter(transaction: Transaction, after: number, { at, send }: Outgoing) {
  for (;;) {
    const rows = transaction.database.tuples<readonly [...MessageTuple, application: number]>(
      `select ${COLUMNS}, application from message where sequence > ? order by sequence limit ?`,
      after,
      PAGE,
    );
    const items: ExportedRow[] = [];
    for (const row of rows) {
      const [sequence, due, accepted, sends, maxMessages, progress, , messageId] = row;
      const [, , , , , , , , format, dateAt, countAt, sizeBytes, , body, number] = row;
      const application = transaction.byNumber(number) as Application;
      if (!isIntact(application, row)) {
        setAside(transaction, application, { message: row, nowMs: at.nowMs });
        place(transaction, application, at.nowMs);
        continue;
      }
      send(body);
      items.push({
        kind: 'message',
        id: String(sequence),
        applicationId: application.id,
        messageId: fromText(messageId),
        length: body.length,
        progress: progress === null ? null : JSON.parse(progress),
        acceptedAt: accepted,
        dueAt: due,
        format,
        dateAt,
        countAt,
        sizeBytes,
        sends,
        maxMessages,
      });
    }
    if (items.length > 0 || rows.length === 0) return items;
  }
}

/** Stores the items whose key is new, or rejects before any is stored. Returns their number. */
export function importItems(
  transaction: Transaction,
  { items, settings, maxDeadBytes }: Operations['importItems'][0],
  { at, bodies }: { readonly at: Moment; readonly bodies: Uint8Array },
): number {
  const { database } = transaction;
  let end = 0;
  const added: { readonly item: ImportedRow; readonly body: Uint8Array }[] = [];
  for (const item of items) {
    const start = end;
    if (item.kind !== 'application') end += item.length;
    if (database.get('select key from imported where key = ?', item.key) !== undefined) continue;
    added.push({ item, body: bodies.subarray(start, end) });
  }
  const entries = added.flatMap(({ item }) => (item.kind === 'message' ? [entryOf(item)] : []));
  refuseOverflow(transaction, { entries, settings });
  for (const { item, body } of added) {
    database.run('insert into imported (key) values (?)', item.key);
    const application = transaction.ensure(item.applicationId, settings.initialState);
    if (item.kind === 'message') storeMessage(transaction, application, { item, body });
    else if (item.kind === 'dead-letter') storeLetter(transaction, application, { item, body });
    else storeState(application, item);
    place(transaction, application, at.nowMs);
  }
  evict(transaction, maxDeadBytes);
  transaction.announceDue();
  return added.length;
}

type Stored<Kind> = {
  readonly item: Extract<ImportedRow, { readonly kind: Kind }>;
  readonly body: Uint8Array;
};

function storeState(application: Application, item: Stored<'application'>['item']): void {
  const [tier, maxMessages, maxBytes, circuitBreaker] = stateTuple(item.state);
  application.tier = tier;
  application.max_messages = maxMessages;
  application.max_bytes = maxBytes;
  application.circuit_breaker = circuitBreaker;
  application.not_before = toWhole(item.pausedUntil);
}

function storeMessage(
  transaction: Transaction,
  application: Application,
  { item, body }: Stored<'message'>,
): void {
  const { sends, maxMessages } = item;
  const due = toWhole(item.dueAt);
  const accepted = toWhole(item.acceptedAt);
  const facts = { application, due, accepted, body };
  const sequence = insertMessage(transaction, entryOf(item), facts);
  const progress = item.progress === null ? null : JSON.stringify(item.progress);
  const row = { sequence, due, accepted, sends, max_messages: maxMessages, progress };
  writeProgress(transaction, row);
  application.first_due = Math.min(application.first_due ?? due, due);
}

function storeLetter(
  transaction: Transaction,
  application: Application,
  { item, body }: Stored<'dead-letter'>,
): void {
  const { number } = application;
  const { messageId, format, dateAt, countAt, sizeBytes } = item;
  const facts = { application: number, messageId, format, dateAt, countAt, sizeBytes };
  transaction.database.run(
    'insert into dead_letter values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    transaction.nextNumber(),
    number,
    toWhole(item.acceptedAt),
    toWhole(item.diedAt),
    item.sends,
    item.reason,
    JSON.stringify(item.lastAttempt),
    toText(messageId),
    format,
    dateAt,
    countAt,
    sizeBytes,
    bodyChecksum(facts, body),
    body,
  );
  transaction.state.dead_bytes += sizeBytes;
  application.accepted += 1;
  application.dead += 1;
}

const entryOf = ({
  applicationId,
  messageId,
  format,
  length,
  dateAt,
  countAt,
  sizeBytes,
}: Stored<'message'>['item']): EntryTuple => [
  applicationId,
  messageId,
  format,
  length,
  dateAt,
  countAt,
  sizeBytes,
];
