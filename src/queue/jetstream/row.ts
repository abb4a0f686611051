/**
 * The row of an application: the one truth about its messages, which themselves lie in the stream
 * and never move. It is written by compare-and-set, so that a claim, or a settling, is one write.
 * Plain data, changed by the pure functions of row-*.ts; times are the server's, in milliseconds.
 */
import type {
  ApplicationRow,
  ClaimedMessage,
  DeadReason,
  DiscardReason,
  Format,
  Json,
  Past,
} from '../queue.ts';

/** Where a message lies in the stream, and when it was accepted. */
export interface Place {
  readonly sequence: number;
  readonly acceptedMs: number;
}

/** Messages that the row knows: claimed at least once, or brought by another queue. */
export interface Group {
  /** Ascending by sequence, never none. */
  readonly places: readonly Place[];
  /** How often they were sent; of those in a claim: this claim included. */
  readonly sends: number;
  /** Absent: each since it was accepted. */
  readonly dueMs?: number;
  /** The largest claim that they may be part of. */
  readonly maxMessages?: number;
  readonly progress: Json | null;
}

export interface LiveClaim {
  readonly id: string;
  readonly untilMs: number;
  /** Their places, one group after the other, are the messages in the claim's order. */
  readonly groups: readonly Group[];
}

/** On their way to the dead letters: whoever finds them there publishes them (exactly once). */
export interface DyingGroup {
  /** In the order of their death; what died in one call dies by (due, sequence). */
  readonly places: readonly Place[];
  readonly sends: number;
  readonly reason: DeadReason;
  readonly end: Json;
  readonly diedMs: number;
}

export interface Row {
  readonly application: ApplicationRow;
  /** Nothing may be claimed before. */
  readonly notBeforeMs: number;
  /** Of the stream: what lies behind it and is not known (see `knownOf`) is fresh: it was never claimed. */
  readonly cursor: number;
  /** When what lies at the cursor was stored: what is fresh was stored then or later. */
  readonly cursorMs: number;
  /** What waits and is not fresh, in no particular order; a sequence may lie behind the cursor. */
  readonly touched: readonly Group[];
  readonly claim?: LiveClaim;
  readonly dying: readonly DyingGroup[];
  /** Over, and yet to be removed from the stream; ascending. Not in `touched`, `claim` or `dying`. */
  readonly garbage: readonly number[];
  /**
   * Removed from the stream, but behind the cursor, ascending: kept until that passes them, or a
   * replica that lags would show them as fresh.
   */
  readonly gone: readonly number[];
  /** Dead letters that are over, and yet to be removed from their stream; ascending. */
  readonly deadGarbage: readonly number[];
  /** Dead letters that are to wait again: published by whoever finds them there; ascending. */
  readonly reviving: readonly number[];
  /** How many dead letters were ever over, or to wait again: whoever looked at them before it grew looks again. */
  readonly lettersEnded: number;
  readonly delivered: number;
  readonly discarded: Readonly<Partial<Record<DiscardReason, number>>>;
}

/** What reading a message of the stream tells that the row has to know. */
export interface ReadMessage {
  readonly sequence: number;
  /** The server's timestamp. */
  readonly storedMs: number;
  readonly format: Format;
  readonly sizeBytes: number;
  /** Of a message that comes from another queue, or was replayed. */
  readonly past?: Omit<Past, 'death'>;
}

/** What was read behind the cursor. */
export interface Fresh<M extends ReadMessage> {
  /** Ascending by sequence, without a gap; what the row knows may be among them. */
  readonly messages: readonly M[];
  /** As far as is known, at least so many are there: tells whether a claim is full (`lingerMs`). */
  readonly waiting: number;
}

/** A message of a claim, as it was before. */
export interface Taken<M extends ReadMessage>
  extends Pick<ClaimedMessage, 'sends' | 'ageMs' | 'progress'> {
  readonly message: M;
  /** For an early claim. */
  readonly moving: NonNullable<ClaimedMessage['moving']>;
}

/** Of an application of which nothing is known yet. */
export function newRow(application: ApplicationRow): Row {
  return {
    application,
    notBeforeMs: 0,
    cursor: 0,
    cursorMs: 0,
    touched: [],
    dying: [],
    garbage: [],
    gone: [],
    deadGarbage: [],
    reviving: [],
    lettersEnded: 0,
    delivered: 0,
    discarded: {},
  };
}

export const acceptedMsOf = ({ storedMs, past }: ReadMessage): number =>
  Math.floor(storedMs - (past?.ageMs ?? 0));

/** A fresh message as the row knows it once it is touched. */
export function groupOf(message: ReadMessage): Group {
  const { sequence, storedMs, past } = message;
  const places = [{ sequence, acceptedMs: acceptedMsOf(message) }];
  if (past === undefined) return { places, sends: 0, progress: null };
  const { sends, ageMs, dueInMs, maxMessages, progress } = past;
  return {
    places,
    sends,
    ...(ageMs === 0 && dueInMs === 0 ? {} : { dueMs: Math.ceil(storedMs + dueInMs) }),
    ...(maxMessages === undefined ? {} : { maxMessages }),
    progress,
  };
}

/** Whether its writing left something to do (row-ends.ts). */
export const hasFollowUp = ({ dying, garbage, deadGarbage, reviving }: Row): boolean =>
  dying.length + garbage.length + deadGarbage.length + reviving.length > 0;

/** Sequences that are fresh no more, wherever the cursor is. */
export function knownOf(row: Row): ReadonlySet<number> {
  const known = new Set([...row.garbage, ...row.gone]);
  for (const { places } of [...row.touched, ...(row.claim?.groups ?? []), ...row.dying]) {
    for (const { sequence } of places) known.add(sequence);
  }
  return known;
}
