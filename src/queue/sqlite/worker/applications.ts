import type { ExpiredMessage, SequenceRange } from '../../queue.ts';
import type { LedgerTuple, Operations, StateTuple } from '../protocol.ts';
import { toWhole } from '../protocol.ts';
import { buryMessage, type Death, evict } from './dead-letters.ts';
import { refreshFirstDue } from './repair.ts';
import { fromText } from './text.ts';
import type { Application, Moment, Transaction } from './transaction.ts';
import { claimedSequences, place } from './waiting.ts';

const SELECT_PAGE = `
  select sequence, application, accepted, sends from message
  where sequence > ? order by sequence limit ?`;

const SELECT_OF_APPLICATION = `
  select sequence, application, accepted, sends from message
  where application = ? order by due, sequence limit ?`;

/** Rows hold bodies: from so many sequences on, all entries of the index are fewer pages. */
const WIDE_RANGE = 5000;
const COUNT_ROWS = 'select count(*) as count from message where sequence between ? and ?';
const COUNT_INDEX = `select count(*) as count from message indexed by message_due
  where +sequence between ? and ?`;

interface WaitingRow {
  readonly sequence: number;
  readonly application: number;
  readonly accepted: number;
  readonly sends: number;
}

/** Makes dead letters of messages that were accepted too long ago and are not claimed. */
export function expire(
  transaction: Transaction,
  { olderThanMs, maxMessages, maxDeadBytes }: Operations['expire'][0],
  at: Moment,
): ExpiredMessage[] {
  const found: WaitingRow[] = [];
  const isClaimed = claimedBy(transaction);
  const limit = toWhole(maxMessages);
  let after = 0;
  // Sequences rise with the time of acceptance: the first message that is too young ends the search.
  search: while (found.length < limit) {
    const page = transaction.database.all<WaitingRow>(SELECT_PAGE, after, 1000);
    for (const row of page) {
      if (row.accepted >= at.nowMs - olderThanMs || found.length >= limit) break search;
      if (!isClaimed(row)) found.push(row);
      after = row.sequence;
    }
    if (page.length < 1000) break;
  }
  const death = { reason: 'horizon-passed', lastAttempt: 'null', diedMs: at.nowMs } as const;
  return buryAll(transaction, found, { death, maxDeadBytes });
}

/** Returns whether a message belongs to a live claim. Reads each claim once. */
function claimedBy(transaction: Transaction): (row: WaitingRow) => boolean {
  const claims = new Map<number, ReadonlySet<number>>();
  return ({ application: number, sequence }) => {
    const known = claims.get(number);
    const application = transaction.byNumber(number) as Application;
    const sequences = known ?? new Set(claimedSequences(transaction, application));
    if (known === undefined) claims.set(number, sequences);
    return sequences.has(sequence);
  };
}

function buryAll(
  transaction: Transaction,
  rows: readonly WaitingRow[],
  { death, maxDeadBytes }: { readonly death: Death; readonly maxDeadBytes: number },
): ExpiredMessage[] {
  const changed = new Set<Application>();
  const expired = rows.map(({ sequence, application: number, sends }) => {
    const application = transaction.byNumber(number) as Application;
    changed.add(application);
    const { messageId } = buryMessage(transaction, application, { sequence, sends, death });
    return { applicationId: application.id, messageId, sequence };
  });
  for (const application of changed) {
    refreshFirstDue(transaction, application);
    place(transaction, application, death.diedMs);
  }
  evict(transaction, maxDeadBytes);
  return expired;
}

export function closeApplication(
  transaction: Transaction,
  given: Operations['closeApplication'][0],
  at: Moment,
): ExpiredMessage[] {
  const application = transaction.ensure(given.applicationId, given.initialState);
  application.tier = 'closed';
  transaction.changed(application);
  const isClaimed = claimedBy(transaction);
  const limit = toWhole(given.maxMessages);
  const rows = transaction.database
    .all<WaitingRow>(SELECT_OF_APPLICATION, application.number, limit + application.claimed)
    .filter((row) => !isClaimed(row))
    .slice(0, limit);
  const death = { reason: 'destination-closed', lastAttempt: 'null', diedMs: at.nowMs } as const;
  return buryAll(transaction, rows, { death, maxDeadBytes: given.maxDeadBytes });
}

export function reopenApplication(
  transaction: Transaction,
  { applicationId, state }: Operations['reopenApplication'][0],
  at: Moment,
): null {
  const application = transaction.find(applicationId);
  if (application === undefined) return null;
  const [tier, maxMessages, maxBytes, circuitBreaker] = state;
  application.tier = tier;
  application.max_messages = maxMessages;
  application.max_bytes = maxBytes;
  application.circuit_breaker = circuitBreaker;
  application.not_before = 0;
  place(transaction, application, at.nowMs);
  transaction.announceDue();
  return null;
}

export function applicationState(transaction: Transaction, id: string): StateTuple | null {
  const found = transaction.find(id);
  if (found === undefined) return null;
  return [found.tier, found.max_messages, found.max_bytes, found.circuit_breaker];
}

export function countPending({ database }: Transaction, ranges: readonly SequenceRange[]): number {
  let sum = 0;
  for (const { from, to } of ranges) {
    const sql = to - from < WIDE_RANGE ? COUNT_ROWS : COUNT_INDEX;
    sum += Number(database.get(sql, from, to)?.['count']);
  }
  return sum;
}

/** Counts only what is not due yet, which is less than what is. */
export function backlog(transaction: Transaction, at: Moment): Operations['open'][1] {
  transaction.flushApplications();
  const later = transaction.database.get(
    `select coalesce(sum((select count(*) from message m where m.application = a.number and m.due > ?)), 0)
     as count from application a where a.pending > 0`,
    at.nowMs,
  );
  const { pending, last_sequence: lastSequence } = transaction.state;
  return { dueMessages: pending - Number(later?.['count']), lastSequence };
}

export function stats(transaction: Transaction, at: Moment): Operations['stats'][1] {
  transaction.flushApplications();
  const applications = transaction.database
    .tuples<LedgerTuple>(
      `select id, tier, accepted, delivered, pending, dead, purged, evicted, lost from application
       order by number`,
    )
    .map(([id, ...counts]): LedgerTuple => [fromText(id), ...counts]);
  // Not since its first message was due: a pause that has just ended is nobody's delay.
  const oldest = transaction.database.get(
    `select min(max(first_due, not_before)) as since from application
     where tier <> 'closed' and claim is null and first_due is not null`,
  )?.['since'];
  const oldestDueMs = oldest === null ? 0 : Math.max(0, at.nowMs - Number(oldest));
  return { pendingBytes: transaction.state.pending_bytes, oldestDueMs, applications };
}
