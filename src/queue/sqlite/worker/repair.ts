/** Compares what is stored twice, and mends what a bad disk has changed. */
import type { Application, Transaction } from './transaction.ts';

const TIERS: readonly string[] = ['healthy', 'failing', 'closed'];

/** No pause is as long as this: a later end of one is damage. */
const MAX_PAUSE_MS = 366 * 86_400_000;

/**
 * Checks when each application can be claimed, since one that seems never to be ready would wait for
 * ever. To be called when the file is opened. It looks at one message of each application.
 */
export function audit(transaction: Transaction, nowMs: number): void {
  for (const row of transaction.database.all('select number from application')) {
    const application = transaction.byNumber(Number(row['number'])) as Application;
    const before = JSON.stringify(application);
    if (!TIERS.includes(application.tier)) application.tier = 'healthy';
    if (application.not_before > nowMs + MAX_PAUSE_MS) application.not_before = 0;
    if (application.served_at > nowMs + MAX_PAUSE_MS) application.served_at = 0;
    refreshFirstDue(transaction, application);
    transaction.changed(application);
    if (JSON.stringify(application) === before) transaction.unchanged(application);
    // Mended, and nothing is lost.
    else transaction.addLost(application, 0);
  }
}

/** Reads the first due time again. While there is a claim, it is not needed. */
export function refreshFirstDue(transaction: Transaction, application: Application): void {
  if (application.claim !== null) return;
  let first = firstDue(transaction, application);
  if (first === undefined) {
    recount(transaction, application);
    first = firstDue(transaction, application);
  }
  application.first_due = first ?? null;
}

/** Undefined when the index, the messages and their count disagree. */
function firstDue(
  { database }: Transaction,
  { number, pending }: Application,
): number | null | undefined {
  const entry = database.get<{ readonly sequence: number; readonly due: number }>(
    'select sequence, due from message where application = ? order by due, sequence limit 1',
    number,
  );
  if (entry === undefined) return pending === 0 ? null : undefined;
  const row = database.get(
    'select application, due from message where sequence = ?',
    entry.sequence,
  );
  const isSame = row?.['application'] === number && row['due'] === entry.due;
  return isSame ? entry.due : undefined;
}

/** Makes the index again and counts the waiting messages of an application again. */
function recount(transaction: Transaction, application: Application): void {
  transaction.database.exec('reindex message');
  const row = transaction.database.get(
    `select count(*) as messages, coalesce(sum(size_bytes), 0) as bytes from message not indexed
     where application = ?`,
    application.number,
  );
  const messages = Number(row?.['messages']) - application.pending;
  transaction.addPending(application, messages, Number(row?.['bytes']) - application.pending_bytes);
  transaction.addLost(application, Math.max(0, -messages));
  application.accepted += Math.max(0, messages);
}
