/** The waiting messages of an application: when they are due, and what an expired lease leaves. */
import { type MessageProgress, progressChecksum } from './checksum.ts';
import { refreshFirstDue } from './repair.ts';
import type { Application, Transaction } from './transaction.ts';

const SELECT_PROGRESS =
  'select sequence, due, accepted, sends, max_messages, progress from message where';

const WRITE_PROGRESS = `
  update message set due = ?, sends = ?, max_messages = ?, progress = ?, progress_checksum = ?
  where sequence = ?`;

export function writeProgress(transaction: Transaction, row: MessageProgress): void {
  const { sequence, due, sends, max_messages: maxMessages, progress } = row;
  const values = [due, sends, maxMessages, progress, progressChecksum(row), sequence];
  transaction.database.run(WRITE_PROGRESS, ...values);
}

export function readProgress(
  { database }: Transaction,
  sequence: number,
): (MessageProgress & { readonly size_bytes: number }) | undefined {
  return database.get(
    `select sequence, due, accepted, sends, max_messages, progress, size_bytes
     from message where sequence = ?`,
    sequence,
  );
}

/**
 * Writes when the application can be claimed next. To be called after a change to its messages, its
 * state or its claim.
 */
export function place(transaction: Transaction, application: Application, nowMs: number): void {
  endDelaysIfFull(transaction, application, nowMs);
  if (application.served_at > nowMs) resumeAfterSetback(application, nowMs);
  transaction.changed(application);
}

/** The clock was set back: new messages do not wait until it is that time again. A pause goes on. */
function resumeAfterSetback(application: Application, nowMs: number): void {
  if (application.not_before <= application.served_at) application.not_before = nowMs;
  application.served_at = nowMs;
}

/** Makes delayed messages due once as many messages wait as one claim may have. */
function endDelaysIfFull(transaction: Transaction, application: Application, nowMs: number): void {
  const waiting = application.pending - application.claimed;
  if (application.delayed_until <= nowMs || waiting < application.max_messages) return;
  application.delayed_until = nowMs;
  // One that waits for another attempt was sent before, and is left alone.
  const delayed = transaction.database.all<MessageProgress>(
    `${SELECT_PROGRESS} application = ? and due > ? and sends = 0`,
    application.number,
    nowMs,
  );
  for (const row of delayed) writeProgress(transaction, { ...row, due: nowMs });
  refreshFirstDue(transaction, application);
}

/** The sequences of the application's live claim. */
export function claimedSequences({ database }: Transaction, application: Application): number[] {
  if (application.claim === null) return [];
  const row = database.get('select sequences from claim where number = ?', application.claim);
  return row === undefined ? [] : (JSON.parse(String(row['sequences'])) as number[]);
}

/** Takes the claim away and puts the application behind those that have waited since. */
export function endClaim(transaction: Transaction, application: Application, atMs: number): void {
  transaction.database.run('delete from claim where number = ?', application.claim);
  application.claim = null;
  application.lease_end = null;
  application.claimed = 0;
  application.served_at = atMs;
  application.turn = transaction.nextNumber();
  refreshFirstDue(transaction, application);
}

/** Ends the leases that have expired. Each claim counts as a send. */
export function rescueExpired(transaction: Transaction, nowMs: number): void {
  transaction.flushApplications();
  const expired = transaction.database.all(
    'select number from application where claim is not null and lease_end <= ?',
    nowMs,
  );
  for (const { number } of expired) {
    const application = transaction.byNumber(Number(number)) as Application;
    const leaseEnd = application.lease_end ?? nowMs;
    for (const sequence of claimedSequences(transaction, application)) {
      const row = readProgress(transaction, sequence);
      if (row !== undefined) writeProgress(transaction, { ...row, sends: row.sends + 1 });
    }
    endClaim(transaction, application, leaseEnd);
    endDelaysIfFull(transaction, application, leaseEnd);
    place(transaction, application, nowMs);
    transaction.announceDue();
  }
}

/** Finds the live claim of that id, or returns undefined when it is lost. */
export function findClaim(transaction: Transaction, id: string): Application | undefined {
  const [, number, claim] = /^(\d{1,15})-(\d{1,15})$/.exec(id) ?? [];
  if (number === undefined) return undefined;
  const application = transaction.byNumber(Number(number));
  return application?.claim === Number(claim) ? application : undefined;
}
