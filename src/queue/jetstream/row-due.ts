/** When something of an application can be claimed, and what became of all of it (law 7). */
import type { Ledger, Tier } from '../queue.ts';
import type { Row } from './row.ts';
import { countOf, waitingIn } from './row-groups.ts';

/** Of what lies behind the cursor and is not known. */
export interface FreshTold {
  /** When the first of it was stored. */
  readonly firstMs: number;
  /** At least so many. */
  readonly waiting: number;
}

/**
 * A claim blocks all of it until its lease is over. `undefined`: whatever the time, nothing can be
 * claimed.
 */
export function claimableAtMs(
  row: Row,
  fresh: FreshTold | undefined,
  lingerMs: number,
): number | undefined {
  const { application, claim, touched } = row;
  if (application.tier === 'closed') return undefined;
  if (claim !== undefined) return claim.untilMs;
  let firstMs = fresh?.firstMs;
  for (const { dueMs } of waitingIn(touched)) {
    if (firstMs === undefined || dueMs < firstMs) firstMs = dueMs;
  }
  if (firstMs === undefined) return undefined;
  const waiting = countOf(touched) + (fresh?.waiting ?? 0);
  const lingers = waiting < application.maxMessages ? lingerMs : 0;
  return Math.max(firstMs + lingers, row.notBeforeMs);
}

/** What the streams hold of an application. */
export interface Held {
  readonly messages: number;
  readonly letters: number;
}

/** Exact where its follow-up is done: what that has yet to remove may be gone already. */
export function ledgerOf(row: Row, held: Held): Ledger & { readonly tier: Tier } {
  const { delivered, discarded, garbage, deadGarbage, application } = row;
  const dying = countOf(row.dying);
  const known = countOf(row.touched) + countOf(row.claim?.groups ?? []);
  const pending = Math.max(held.messages - garbage.length - dying, known);
  const dead = Math.max(held.letters - deadGarbage.length, 0) + dying;
  const sum = Object.values(discarded).reduce((total, count) => total + count, 0);
  const accepted = delivered + pending + dead + sum;
  return { accepted, delivered, pending, dead, discarded, tier: application.tier };
}
