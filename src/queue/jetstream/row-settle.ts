/** What ends a claim (law 3): verdicts, a release, or the end of its lease. */
import { SecurityEventError } from '../../errors.ts';
import type { ApplicationRow, DiscardReason, Moved, RowUpdate, Verdict } from '../queue.ts';
import type { DyingGroup, Group, LiveClaim, Row } from './row.ts';
import { countOf, inRuns, together } from './row-groups.ts';
import { united } from './sequences.ts';

/** A row, and the claim that it had. */
interface Held {
  readonly claim: LiveClaim;
  readonly rest: Row;
}

/** A lease that is over: its messages wait again, and were sent. */
export function lapse(row: Row, nowMs: number): Row {
  const { claim, ...rest } = row;
  if (claim === undefined || claim.untilMs > nowMs) return row;
  return waitingAgain(rest, claim.groups);
}

const waitingAgain = (row: Row, groups: readonly Group[]): Row => ({
  ...row,
  touched: together([...row.touched, ...groups]),
});

function heldOf(row: Row, id: string, nowMs: number): Held | undefined {
  const { claim, ...rest } = row;
  return claim?.id === id && claim.untilMs > nowMs ? { claim, rest } : undefined;
}

export interface Settling {
  /** One a message, in the claim's order. */
  readonly verdicts: readonly (Verdict | Moved)[];
  readonly update: RowUpdate;
  readonly nowMs: number;
}

/** `undefined`: the claim is lost. */
export function settle(row: Row, id: string, settling: Settling): Row | undefined {
  const { verdicts, update, nowMs } = settling;
  const held = heldOf(row, id, nowMs);
  if (held === undefined) return undefined;
  const count = countOf(held.claim.groups);
  if (verdicts.length !== count) {
    const detail = `${verdicts.length} verdicts for ${count} messages`;
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }
  const parted = part(held.claim, verdicts, nowMs);
  const { delivered, moved } = parted;
  const ended = waitingAgain(held.rest, parted.again);
  return written(
    {
      ...ended,
      dying: [...row.dying, ...inRuns(parted.dying)],
      garbage: united(row.garbage, [...delivered, ...moved]),
      delivered: row.delivered + delivered.length,
      discarded: discardedAlso(row, 'moved', moved.length),
    },
    update,
    nowMs,
  );
}

interface Parted {
  readonly delivered: number[];
  readonly moved: number[];
  readonly dying: DyingGroup[];
  readonly again: Group[];
}

function part(
  { groups }: LiveClaim,
  verdicts: readonly (Verdict | Moved)[],
  nowMs: number,
): Parted {
  const parted: Parted = { delivered: [], moved: [], dying: [], again: [] };
  let index = 0;
  for (const group of groups) {
    for (const place of group.places) {
      const verdict = verdicts[index] as Verdict | Moved;
      index += 1;
      const places = [place];
      const { sends } = group;
      if (verdict.kind === 'again') {
        parted.again.push(postponed({ ...group, places }, verdict, nowMs));
      } else if (verdict.kind === 'dead') {
        const { reason, end } = verdict;
        parted.dying.push({ places, sends, reason, end, diedMs: Math.floor(nowMs) });
      } else {
        parted[verdict.kind].push(place.sequence);
      }
    }
  }
  return parted;
}

function postponed(
  { places, sends, dueMs }: Group,
  { afterMs, maxMessages, progress }: Extract<Verdict, { readonly kind: 'again' }>,
  nowMs: number,
): Group {
  const newDueMs = afterMs > 0 ? whole(nowMs + afterMs) : dueMs;
  return {
    places,
    sends,
    ...(newDueMs === undefined ? {} : { dueMs: newDueMs }),
    ...(maxMessages === undefined ? {} : { maxMessages: whole(maxMessages) }),
    progress,
  };
}

/** Rounded up, so that nothing comes sooner than was asked; numbers of the engine's may be infinite. */
const whole = (value: number): number => Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER);

/** The messages wait as they did before the claim. `undefined`: the claim is lost. */
export function release(
  row: Row,
  id: string,
  at: { readonly update?: RowUpdate | undefined; readonly nowMs: number },
): Row | undefined {
  const held = heldOf(row, id, at.nowMs);
  if (held === undefined) return undefined;
  const unsent = held.claim.groups.map((group) => ({ ...group, sends: group.sends - 1 }));
  const released = waitingAgain(held.rest, unsent);
  return at.update === undefined ? released : written(released, at.update, at.nowMs);
}

/** `undefined`: the claim is lost. */
export function extend(
  row: Row,
  id: string,
  at: { readonly leaseMs: number; readonly nowMs: number },
): Row | undefined {
  const held = heldOf(row, id, at.nowMs);
  if (held === undefined) return undefined;
  return { ...row, claim: { ...held.claim, untilMs: whole(at.nowMs + at.leaseMs) } };
}

/** What a claim leaves behind does not open what was closed meanwhile: that is `reopened`'s alone. */
function written(row: Row, { waitMs, ...update }: RowUpdate, nowMs: number): Row {
  const tier = row.application.tier === 'closed' ? 'closed' : update.tier;
  const application = { ...kept(update), tier };
  return { ...row, application, notBeforeMs: whole(nowMs + waitMs) };
}

/** With numbers that JSON can tell. */
export const kept = ({ tier, maxMessages, maxBytes, lane }: ApplicationRow): ApplicationRow => ({
  tier,
  maxMessages: whole(maxMessages),
  maxBytes: whole(maxBytes),
  lane,
});

export function discardedAlso(
  { discarded }: Pick<Row, 'discarded'>,
  reason: DiscardReason,
  count: number,
): Row['discarded'] {
  return count === 0 ? discarded : { ...discarded, [reason]: (discarded[reason] ?? 0) + count };
}
