import type { EntryTuple, Operations } from '../protocol.ts';
import { bodyChecksum, progressChecksum } from './checksum.ts';
import { Rejection } from './failure.ts';
import { toText } from './text.ts';
import type { Application, Moment, Transaction } from './transaction.ts';
import { place } from './waiting.ts';

type Argument = Operations['enqueue'][0];

const INSERT = `
  insert into message (sequence, application, due, accepted, sends, progress_checksum, message_id,
    format, date_at, count_at, size_bytes, body_checksum, body)
  values (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Stores the entries of open applications, or rejects before anything is stored. */
export function enqueue(
  transaction: Transaction,
  { entries, delayMs, settings }: Argument,
  { at, bodies }: { readonly at: Moment; readonly bodies: Uint8Array },
): Operations['enqueue'][1] {
  const { isClosed, closed } = closedOf(transaction, entries);
  refuseOverflow(transaction, { entries: entries.filter((entry) => !isClosed(entry)), settings });
  const due = at.after(delayMs);
  const changed = new Set<Application>();
  const sequences: number[] = [];
  let end = 0;
  for (const entry of entries) {
    const body = bodies.subarray(end, end + entry[3]);
    end += entry[3];
    if (isClosed(entry)) continue;
    const application = transaction.ensure(entry[0], settings.initialState);
    sequences.push(
      insertMessage(transaction, entry, { application, due, accepted: at.nowMs, body }),
    );
    application.first_due = Math.min(application.first_due ?? due, due);
    application.delayed_until = Math.max(application.delayed_until, due);
    changed.add(application);
  }
  for (const application of changed) place(transaction, application, at.nowMs);
  if (changed.size > 0) transaction.announceDue();
  return { sequences, closed };
}

function closedOf(transaction: Transaction, entries: readonly EntryTuple[]) {
  const ids = new Set(entries.map(([id]) => id));
  const closed = new Set([...ids].filter((id) => transaction.find(id)?.tier === 'closed'));
  const isClosed = ([id]: EntryTuple): boolean => closed.size > 0 && closed.has(id);
  return { isClosed, closed: [...closed] };
}

export function refuseOverflow(
  { state }: Transaction,
  { entries, settings: { bounds } }: Pick<Argument, 'entries' | 'settings'>,
): void {
  const bytes = entries.reduce((sum, entry) => sum + entry[6], 0);
  let bound: keyof typeof bounds | undefined;
  if (state.pending + entries.length > bounds.maxPendingMessages) bound = 'maxPendingMessages';
  else if (state.pending_bytes + bytes > bounds.maxPendingBytes) bound = 'maxPendingBytes';
  if (bound === undefined || entries.length === 0) return;
  const detail = `${entries.length} messages of ${bytes} bytes would pass ${bound} (${bounds[bound]})`;
  throw new Rejection('ERR_QUEUE_FULL', detail, { path: [bound] });
}

interface NewMessage {
  readonly application: Application;
  readonly due: number;
  readonly accepted: number;
  readonly body: Uint8Array;
}

export function insertMessage(
  transaction: Transaction,
  entry: EntryTuple,
  message: NewMessage,
): number {
  const [, messageId, format, , dateAt, countAt, sizeBytes] = entry;
  const { application, due, accepted, body } = message;
  transaction.state.last_sequence += 1;
  const sequence = transaction.state.last_sequence;
  const { number } = application;
  const facts = { application: number, messageId, format, dateAt, countAt, sizeBytes };
  const progress = { sequence, due, accepted, sends: 0, max_messages: null, progress: null };
  transaction.database.run(
    INSERT,
    sequence,
    number,
    due,
    accepted,
    progressChecksum(progress),
    toText(messageId),
    format,
    dateAt,
    countAt,
    sizeBytes,
    bodyChecksum(facts, body),
    body,
  );
  transaction.addPending(application, 1, sizeBytes);
  application.accepted += 1;
  return sequence;
}
