/** Counts the messages of the applications of a memory queue. */
import { ownProperties } from '../../own-properties.ts';
import type { Backlog, DiscardReason, Ledger, QueueStats, SequenceRange, Tier } from '../queue.ts';
import type { Application } from './application.ts';

type Applications = Iterable<Application>;

/** Counts the messages in the ranges that wait or are claimed. */
export function countPending(applications: Applications, ranges: readonly SequenceRange[]): number {
  let count = 0;
  for (const { waiting, claim } of applications) {
    for (const { sequence } of waiting) if (isIn(ranges, sequence)) count += 1;
    for (const { sequence } of claim?.messages ?? []) if (isIn(ranges, sequence)) count += 1;
  }
  return count;
}

/** `ranges` ascend and do not overlap. */
function isIn(ranges: readonly SequenceRange[], sequence: number): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle] as SequenceRange).to < sequence) low = middle + 1;
    else high = middle;
  }
  const range = ranges[low];
  return range !== undefined && range.from <= sequence;
}

/** Counts all messages, and those that are due or claimed. */
export function countDue(applications: Applications, nowMs: number): Omit<Backlog, 'lastSequence'> {
  let pendingMessages = 0;
  let dueMessages = 0;
  for (const { waiting, claim } of applications) {
    const claimed = claim?.messages.length ?? 0;
    pendingMessages += claimed + waiting.size;
    dueMessages += claimed;
    for (const { dueMs } of waiting) if (dueMs <= nowMs) dueMessages += 1;
  }
  return { pendingMessages, dueMessages };
}

export function statsOf(
  applications: Applications,
  nowMs: number,
): Omit<QueueStats, 'pendingBytes'> {
  const ledgers = new Map<string, Ledger & { readonly tier: Tier }>();
  const total = { accepted: 0, delivered: 0, pending: 0, dead: 0 };
  const discarded: Partial<Record<DiscardReason, number>> = ownProperties({});
  let oldestDueMs = 0;
  for (const application of applications) {
    const ledger = application.ledger();
    ledgers.set(application.id, { ...ledger, tier: application.state.tier });
    for (const key of ['accepted', 'delivered', 'pending', 'dead'] as const) {
      total[key] += ledger[key];
    }
    for (const [reason, messages] of Object.entries(ledger.discarded)) {
      const key = reason as DiscardReason;
      discarded[key] = (discarded[key] ?? 0) + messages;
    }
    if (application.claim !== undefined) continue;
    // Since it can be claimed, not since it is due: time in a pause is no delay.
    oldestDueMs = Math.max(oldestDueMs, nowMs - (application.claimableAtMs() ?? nowMs));
  }
  return { ...total, discarded: { ...discarded }, oldestDueMs, applications: ledgers };
}
