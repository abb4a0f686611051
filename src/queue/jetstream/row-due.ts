/** When something of an application can be claimed, and what became of all of it (law 7). */
import type { ApplicationRow, Ledger, Tier } from '../queue.ts';
import { type Group, hasFollowUp, type Row } from './row.ts';
import { countOf, waitingIn } from './row-groups.ts';

/** Of what lies behind the cursor and is not known. */
export interface FreshTold {
  /** When the first of it was stored. */
  readonly firstMs: number;
  /** At least so many. */
  readonly waiting: number;
}

/** What is told of a row without the messages that it knows: of many rows that is all that is at hand. */
export interface RowFacts {
  readonly application: ApplicationRow;
  readonly notBeforeMs: number;
  /** What waits, and what is claimed. */
  readonly touched: Crowd;
  readonly claimed: Crowd;
  /** When the lease of the claim ends. */
  readonly untilMs: number | undefined;
  readonly dying: number;
  readonly garbage: number;
  readonly deadGarbage: number;
  readonly hasFollowUp: boolean;
  readonly delivered: number;
  readonly discarded: Ledger['discarded'];
}

interface Crowd {
  readonly count: number;
  /** When the first of them is due; none: never. */
  readonly firstMs: number;
  /** When the oldest of them was accepted; none: never. */
  readonly acceptedMs: number;
}

export function factsOf(row: Row): RowFacts {
  const { application, notBeforeMs, claim, garbage, deadGarbage, delivered, discarded } = row;
  return {
    application,
    notBeforeMs,
    touched: crowdOf(row.touched),
    claimed: crowdOf(claim?.groups ?? []),
    untilMs: claim?.untilMs,
    dying: countOf(row.dying),
    garbage: garbage.length,
    deadGarbage: deadGarbage.length,
    hasFollowUp: hasFollowUp(row),
    delivered,
    discarded,
  };
}

function crowdOf(groups: readonly Group[]): Crowd {
  let firstMs = Number.POSITIVE_INFINITY;
  let acceptedMs = Number.POSITIVE_INFINITY;
  for (const { dueMs, place } of waitingIn(groups)) {
    firstMs = Math.min(firstMs, dueMs);
    acceptedMs = Math.min(acceptedMs, place.acceptedMs);
  }
  return { count: countOf(groups), firstMs, acceptedMs };
}

/**
 * A claim blocks all of it until its lease is over: then its messages wait again. `undefined`: whatever the
 * time, nothing can be claimed.
 */
export function readyAtMs(
  { application, notBeforeMs, touched, claimed, untilMs }: RowFacts,
  fresh: FreshTold | undefined,
  { lingerMs, nowMs }: { readonly lingerMs: number; readonly nowMs: number },
): number | undefined {
  if (application.tier === 'closed') return undefined;
  if (untilMs !== undefined && untilMs > nowMs) return untilMs;
  const firstMs = Math.min(
    fresh?.firstMs ?? Number.POSITIVE_INFINITY,
    touched.firstMs,
    claimed.firstMs,
  );
  if (firstMs === Number.POSITIVE_INFINITY) return undefined;
  const waiting = touched.count + claimed.count + (fresh?.waiting ?? 0);
  const lingers = waiting < application.maxMessages ? lingerMs : 0;
  return Math.max(firstMs + lingers, notBeforeMs);
}

/** As {@link readyAtMs}, of a row whose claim is out, where it has one. */
export const claimableAtMs = (
  row: Row,
  fresh: FreshTold | undefined,
  lingerMs: number,
): number | undefined =>
  readyAtMs(factsOf(row), fresh, { lingerMs, nowMs: Number.NEGATIVE_INFINITY });

/** What the streams hold of an application. */
export interface Held {
  readonly messages: number;
  readonly letters: number;
}

/** Exact where its follow-up is done: what that has yet to remove may be gone already. */
export function ledgerOf(facts: RowFacts, held: Held): Ledger & { readonly tier: Tier } {
  const { delivered, discarded, garbage, deadGarbage, dying, application } = facts;
  const known = facts.touched.count + facts.claimed.count;
  const pending = Math.max(held.messages - garbage - dying, known);
  const dead = Math.max(held.letters - deadGarbage, 0) + dying;
  const sum = Object.values(discarded).reduce((total, count) => total + count, 0);
  const accepted = delivered + pending + dead + sum;
  return { accepted, delivered, pending, dead, discarded, tier: application.tier };
}
