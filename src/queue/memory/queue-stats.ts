import type { Ledger, QueueStats, Tier } from '../queue.ts';
import type { TurnTaker } from './turns.ts';

type Counts = { -readonly [Key in keyof Ledger]: Ledger[Key] };

interface Counted extends TurnTaker {
  readonly id: string;
  ledger(): Ledger;
}

interface Content<T extends Counted> {
  readonly applications: Iterable<T>;
  readonly isClaimable: (application: T) => boolean;
  readonly pendingBytes: number;
  readonly nowMs: number;
}

/** Of a queue whose applications are in memory (law 7). */
export function queueStats<T extends Counted>(content: Content<T>): QueueStats {
  const applications = new Map<string, Ledger & { readonly tier: Tier }>();
  const total: Counts = { accepted: 0, delivered: 0, pending: 0, dead: 0, discarded: {} };
  const discarded = new Map<string, number>();
  let oldestDueMs = 0;
  for (const application of content.applications) {
    const ledger = application.ledger();
    applications.set(application.id, { ...ledger, tier: application.state.tier });
    add(total, ledger);
    for (const [reason, count] of Object.entries(ledger.discarded)) {
      discarded.set(reason, (discarded.get(reason) ?? 0) + count);
    }
    // Not since its first message is due: a pause that has just ended is nobody's fault.
    const sinceMs = application.claimableAtMs();
    if (sinceMs !== undefined && content.isClaimable(application)) {
      oldestDueMs = Math.max(oldestDueMs, content.nowMs - sinceMs);
    }
  }
  total.discarded = Object.fromEntries(discarded);
  return { ...total, pendingBytes: content.pendingBytes, oldestDueMs, applications };
}

function add(total: Counts, { accepted, delivered, pending, dead }: Ledger): void {
  total.accepted += accepted;
  total.delivered += delivered;
  total.pending += pending;
  total.dead += dead;
}
