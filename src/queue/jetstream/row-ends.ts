/** What ends without an attempt, what is closed and opened, and what is no longer to be kept in mind. */
import type { ApplicationRow, DeadReason, DiscardReason } from '../queue.ts';
import type { DyingGroup, Group, ReadMessage, Row } from './row.ts';
import { groupOf, hasFollowUp, knownOf } from './row.ts';
import { advanced } from './row-claim.ts';
import { byDue, countOf, inRuns, waitingIn, without } from './row-groups.ts';
import { discardedAlso, kept } from './row-settle.ts';
import { united } from './sequences.ts';

/** Of what the row knows: accepted before, and not claimed; to be read and buried. */
export function olderThan({ touched }: Row, beforeMs: number, max: number): number[] {
  const old = [...waitingIn(touched)].filter(({ place }) => place.acceptedMs < beforeMs);
  return old
    .toSorted(byDue)
    .slice(0, max)
    .map(({ place }) => place.sequence);
}

/** Of what the row knows: not claimed, whenever it is due; to be read and buried. */
export function waitingOf({ touched }: Row, max: number): number[] {
  const waiting = [...waitingIn(touched)].toSorted(byDue);
  return waiting.slice(0, max).map(({ place }) => place.sequence);
}

export interface Burial<M extends ReadMessage> {
  /** Fresh or known. */
  readonly messages: readonly M[];
  readonly reason: DeadReason;
  readonly nowMs: number;
  /** What was read from the cursor on, without a gap: lets it move. */
  readonly page?: readonly M[];
}

/** Makes dead letters of those that wait; tells which did. */
export function bury<M extends ReadMessage>(
  row: Row,
  { messages, reason, nowMs, page = [] }: Burial<M>,
): { readonly row: Row; readonly buried: readonly M[] } {
  const touched = new Map<number, Group>();
  for (const { group, place } of waitingIn(row.touched)) touched.set(place.sequence, group);
  const known = knownOf(row);
  const dying: DyingGroup[] = [];
  const buried: M[] = [];
  for (const message of messages) {
    const { sequence } = message;
    const isFresh = sequence > row.cursor && !known.has(sequence);
    const group = touched.get(sequence) ?? (isFresh ? groupOf(message) : undefined);
    const place = group?.places.find((one) => one.sequence === sequence);
    if (group === undefined || place === undefined) continue;
    const diedMs = Math.floor(nowMs);
    dying.push({ places: [place], sends: group.sends, reason, end: null, diedMs });
    buried.push(message);
  }
  if (buried.length === 0) return { row, buried };
  const gone = new Set(buried.map(({ sequence }) => sequence));
  const left = {
    ...row,
    touched: without(row.touched, gone),
    dying: [...row.dying, ...inRuns(dying)],
  };
  return { row: advanced(left, page), buried };
}

export const closed = (row: Row): Row =>
  row.application.tier === 'closed'
    ? row
    : { ...row, application: { ...row.application, tier: 'closed' } };

export const reopened = (row: Row, initial: ApplicationRow): Row => ({
  ...row,
  application: kept(initial),
  notBeforeMs: 0,
});

/**
 * Of an enqueue that came too late for a closing. `undefined`: some of it was taken in already. The same
 * row: it was withdrawn before, by a write whose answer was lost.
 */
export function withdrawn(row: Row, sequences: readonly number[]): Row | undefined {
  const over = new Set([...row.garbage, ...row.gone]);
  if (sequences.every((sequence) => over.has(sequence))) return row;
  const known = knownOf(row);
  const isFresh = (sequence: number): boolean => sequence > row.cursor && !known.has(sequence);
  if (!sequences.every(isFresh)) return undefined;
  return { ...row, garbage: united(row.garbage, sequences) };
}

/** Of what is not claimed; somebody else has removed it from the stream. `undefined`: the row knows by now. */
export function lost(row: Row, sequences: readonly number[]): Row | undefined {
  const touched = without(row.touched, new Set(sequences));
  const count = countOf(row.touched) - countOf(touched);
  if (count === 0) return undefined;
  return { ...row, touched, discarded: discardedAlso(row, 'lost', count) };
}

/** Letters that are over: they count here from now on, and are removed from their stream afterwards. */
export function purged(row: Row, sequences: readonly number[], as: DiscardReason): Row {
  const over = new Set([...row.deadGarbage, ...row.reviving]);
  const fresh = sequences.filter((sequence) => !over.has(sequence));
  if (fresh.length === 0) return row;
  return {
    ...row,
    deadGarbage: united(row.deadGarbage, fresh),
    lettersEnded: row.lettersEnded + fresh.length,
    discarded: discardedAlso(row, as, fresh.length),
  };
}

/** Letters that are to wait again; of a closed application none. */
export function revived(row: Row, sequences: readonly number[]): Row {
  const over = new Set([...row.deadGarbage, ...row.reviving]);
  const fresh = sequences.filter((sequence) => !over.has(sequence));
  if (fresh.length === 0 || row.application.tier === 'closed') return row;
  return {
    ...row,
    reviving: united(row.reviving, fresh),
    lettersEnded: row.lettersEnded + fresh.length,
  };
}

/** What whoever wrote the row has yet to do; anyone may, and do it twice. */
export interface FollowUp {
  /** To be published as dead letters, then removed from the stream. */
  readonly dying: readonly DyingGroup[];
  /** To be removed from the stream. */
  readonly garbage: readonly number[];
  /** To be removed from the dead letters. */
  readonly deadGarbage: readonly number[];
  /** To be published, then removed from the dead letters; where there is no room, they stay. */
  readonly reviving: readonly number[];
  /** Of the row that said so: once it is another one, one of them may be there to be tried again. */
  readonly lettersEnded: number;
}

export function followUpOf(row: Row): FollowUp | undefined {
  if (!hasFollowUp(row)) return undefined;
  const { dying, garbage, deadGarbage, reviving, lettersEnded } = row;
  return { dying, garbage, deadGarbage, reviving, lettersEnded };
}

/** All of it was done; what came after it stays. */
export function done(row: Row, followUp: FollowUp): Row {
  const dead = new Set(
    followUp.dying.flatMap(({ places }) => places.map(({ sequence }) => sequence)),
  );
  const garbage = new Set(followUp.garbage);
  const letters = new Set(followUp.deadGarbage);
  const isSame = row.lettersEnded === followUp.lettersEnded;
  const tried = new Set(isSame ? followUp.reviving : []);
  const removed = [...dead, ...row.garbage.filter((sequence) => garbage.has(sequence))];
  return {
    ...row,
    dying: row.dying.filter(({ places }) => !places.some(({ sequence }) => dead.has(sequence))),
    garbage: row.garbage.filter((sequence) => !garbage.has(sequence)),
    gone: united(row.gone, removed).filter((sequence) => sequence > row.cursor),
    deadGarbage: row.deadGarbage.filter((sequence) => !letters.has(sequence)),
    reviving: row.reviving.filter((sequence) => !tried.has(sequence)),
  };
}
