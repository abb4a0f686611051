/** What a change adds up to: made in parts beside what is in memory, and counted there in one go. */

import { storable } from './keys.ts';
import type { DiscardReason } from './old-contract.ts';

/** Of one application. Numbers are differences. */
export class Tally {
  delivered = 0;
  dead = 0;
  fresh = 0;
  again = 0;
  pendingBytes = 0;
  deadBytes = 0;
  /** How many of its messages leave their room. */
  left = 0;
  readonly discarded = new Map<DiscardReason, number>();
  againDueMs: number | undefined;
  againOldestMs: number | undefined;
  freshDueMs: number | undefined;

  discard(reason: DiscardReason): void {
    this.discarded.set(reason, (this.discarded.get(reason) ?? 0) + 1);
  }

  /** One waits no more. */
  leave(sizeBytes: number): void {
    this.left += 1;
    this.pendingBytes -= sizeBytes;
  }

  waitsAgain(dueMs: number, acceptedMs: number): void {
    this.again += 1;
    this.againDueMs = earlier(this.againDueMs, dueMs);
    this.againOldestMs = earlier(this.againOldestMs, storable(acceptedMs));
  }

  isFresh(dueMs: number): void {
    this.fresh += 1;
    this.freshDueMs = earlier(this.freshDueMs, dueMs);
  }

  dies(sizeBytes: number): void {
    this.dead += 1;
    this.deadBytes += sizeBytes;
  }
}

export function earlier(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}
