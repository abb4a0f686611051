import type { DiscardReason, Ledger, QueueStats, Tier } from '../queue.ts';
import type { Row } from './database.ts';
import { fromText } from './words.ts';

type Counts = { -readonly [Key in keyof Ledger]: Ledger[Key] };

/** Why messages of such a queue are discarded; the names of the columns, too. */
const REASONS = ['purged'] as const satisfies readonly DiscardReason[];

/** Of a row for each application. */
export function statsOf(rows: readonly Row[]): QueueStats {
  const applications = new Map<string, Ledger & { readonly tier: Tier }>();
  const total: Counts = { accepted: 0, delivered: 0, pending: 0, dead: 0, discarded: {} };
  let pendingBytes = 0;
  let oldestDueMs = 0;
  for (const row of rows) {
    const ledger = ledgerOf(row);
    applications.set(fromText(String(row['id'])), { ...ledger, tier: row['tier'] as Tier });
    add(total, ledger);
    pendingBytes += Number(row['pending_bytes']);
    oldestDueMs = Math.max(oldestDueMs, Number(row['waiting_ms'] ?? 0));
  }
  return { ...total, pendingBytes, oldestDueMs, applications };
}

function ledgerOf(row: Row): Ledger {
  const count = (name: string): number => Number(row[name]);
  const discarded = REASONS.filter((reason) => count(reason) > 0);
  return {
    accepted: count('accepted'),
    delivered: count('delivered'),
    pending: count('pending'),
    dead: count('dead'),
    discarded: Object.fromEntries(discarded.map((reason) => [reason, count(reason)])),
  };
}

function add(total: Counts, { accepted, delivered, pending, dead, discarded }: Ledger): void {
  total.accepted += accepted;
  total.delivered += delivered;
  total.pending += pending;
  total.dead += dead;
  for (const reason of REASONS) {
    const more = discarded[reason] ?? 0;
    if (more > 0) {
      total.discarded = { ...total.discarded, [reason]: (total.discarded[reason] ?? 0) + more };
    }
  }
}
