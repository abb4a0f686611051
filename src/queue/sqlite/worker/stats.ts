import type { Backlog, Health, Ledger, QueueStats, SequenceRange } from '../../queue.ts';
import { fromText, sumLedgers } from '../../stored-values.ts';
import type { Application } from './schema.ts';
import type { Context } from './store.ts';

/** For ranges of this size, reading the whole index is faster than reading the rows, which contain the bodies. */
const WIDE_RANGE = 5000;

export function countPending({ database }: Context, ranges: readonly SequenceRange[]): number {
  let sum = 0;
  for (const { from, to } of ranges) {
    const condition =
      to - from < WIDE_RANGE
        ? 'where sequence between ? and ?'
        : 'indexed by message_due where +sequence between ? and ?';
    sum += database.number(`select count(*) from message ${condition}`, from, to);
  }
  return sum;
}

/** Counts the messages that are not due, and subtracts: usually these are fewer. */
export function countBacklog({ store, database, nowMs }: Context): Backlog {
  store.flushApplications();
  const later = database.number(
    `select coalesce(sum((select count(*) from message m where m.application = a.number and m.due > ?)), 0)
     from application a where a.pending > 0`,
    nowMs,
  );
  const { pending: pendingMessages, last_sequence: lastSequence } = store.state;
  return { pendingMessages, dueMessages: pendingMessages - later, lastSequence };
}

const COUNTS = ['delivered', 'pending', 'dead', 'purged', 'evicted', 'damaged'] as const;

type Counts = Pick<Application, (typeof COUNTS)[number]>;

export function stats({ store, database, nowMs }: Context): QueueStats {
  store.flushApplications();
  const applications = new Map<string, Ledger & { readonly health: Health }>();
  const sql = `select id, health, ${COUNTS.join()} from application order by number`;
  for (const row of database.all<Application>(sql)) {
    applications.set(fromText(row.id), { ...ledgerOf(row), health: row.health });
  }
  // Counts from when it could be claimed: the time before that, in a pause, is no delay of the queue.
  const oldest = database.get<{ readonly since: number | null }>(
    `select min(max(first_due, not_before)) as since from application
     where health <> 'closed' and claim is null and first_due is not null`,
  )?.since;
  const oldestDueMs = Math.max(0, nowMs - (oldest ?? nowMs));
  const { pending_bytes: pendingBytes } = store.state;
  return { ...sumLedgers(applications.values()), pendingBytes, oldestDueMs, applications };
}

function ledgerOf({ delivered, pending, dead, purged, evicted, damaged }: Counts): Ledger {
  const counts = Object.entries({ purged, evicted, damaged }).filter(([, count]) => count > 0);
  const accepted = delivered + pending + dead + purged + evicted + damaged;
  return { accepted, delivered, pending, dead, discarded: Object.fromEntries(counts) };
}
