/** A row as the bytes that its bucket keeps. */
import { SecurityEventError } from '../../errors.ts';
import type { ApplicationRow, DeadReason, Json } from '../queue.ts';
import type { DyingGroup, Group, LiveClaim, Row } from './row.ts';
import { decodePlaces, decodeSequences, encodePlaces, encodeSequences } from './sequences.ts';

/** Raised where an older release could not read it. */
const VERSION = 1;

type GroupWords = readonly [
  places: string,
  sends: number,
  dueMs: number | null,
  maxMessages: number | null,
  progress: Json,
];

type DyingWords = readonly [
  places: string,
  sends: number,
  reason: DeadReason,
  end: Json,
  diedMs: number,
];

interface RowWords {
  readonly v: number;
  readonly row: readonly [ApplicationRow['tier'], number, number, Json];
  readonly wait: number;
  readonly cursor: readonly [number, number];
  readonly touched: readonly GroupWords[];
  readonly claim?: readonly [id: string, untilMs: number, groups: readonly GroupWords[]];
  readonly dying: readonly DyingWords[];
  readonly garbage: string;
  readonly gone: string;
  readonly letters: string;
  readonly reviving: string;
  /** Absent: none. */
  readonly ended?: number;
  readonly delivered: number;
  readonly discarded: Row['discarded'];
}

export function encodeRow(row: Row): Uint8Array {
  const { tier, maxMessages, maxBytes, lane } = row.application;
  const { claim } = row;
  const words: RowWords = {
    v: VERSION,
    row: [tier, maxMessages, maxBytes, lane],
    wait: row.notBeforeMs,
    cursor: [row.cursor, row.cursorMs],
    touched: row.touched.map(groupWords),
    ...(claim === undefined
      ? {}
      : { claim: [claim.id, claim.untilMs, claim.groups.map(groupWords)] as const }),
    dying: row.dying.map(dyingWords),
    garbage: encodeSequences(row.garbage),
    gone: encodeSequences(row.gone),
    letters: encodeSequences(row.deadGarbage),
    reviving: encodeSequences(row.reviving),
    ...(row.lettersEnded === 0 ? {} : { ended: row.lettersEnded }),
    delivered: row.delivered,
    discarded: row.discarded,
  };
  return Buffer.from(JSON.stringify(words));
}

const groupWords = ({ places, sends, dueMs, maxMessages, progress }: Group): GroupWords => [
  encodePlaces(places),
  sends,
  dueMs ?? null,
  maxMessages ?? null,
  progress,
];

const dyingWords = ({ places, sends, reason, end, diedMs }: DyingGroup): DyingWords => [
  encodePlaces(places),
  sends,
  reason,
  end,
  diedMs,
];

/** Rejects what is damaged, or was written by a newer release, with ERR_QUEUE_FAILED. */
export function decodeRow(bytes: Uint8Array): Row {
  const words = parsed(bytes);
  if (words.v !== VERSION) {
    const detail = `the row of an application has the form ${words.v}, this release knows ${VERSION}`;
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }
  try {
    return rowOf(words);
  } catch (cause) {
    throw damaged(cause);
  }
}

function parsed(bytes: Uint8Array): RowWords {
  try {
    const words: unknown = JSON.parse(Buffer.from(bytes).toString());
    if (typeof words !== 'object' || words === null || !('v' in words))
      throw new TypeError('no row');
    return words as RowWords;
  } catch (cause) {
    throw damaged(cause);
  }
}

/** What JSON.parse says may quote the text. */
const damaged = (_cause: unknown): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', { detail: 'the row of an application is damaged' });

function rowOf(words: RowWords): Row {
  const [tier, maxMessages, maxBytes, lane] = words.row;
  const [cursor, cursorMs] = words.cursor;
  return {
    application: { tier, maxMessages, maxBytes, lane },
    notBeforeMs: words.wait,
    cursor,
    cursorMs,
    touched: words.touched.map(groupOf),
    ...(words.claim === undefined ? {} : { claim: claimOf(words.claim) }),
    dying: words.dying.map(dyingOf),
    garbage: decodeSequences(words.garbage),
    gone: decodeSequences(words.gone),
    deadGarbage: decodeSequences(words.letters),
    reviving: decodeSequences(words.reviving),
    lettersEnded: words.ended ?? 0,
    delivered: words.delivered,
    discarded: words.discarded,
  };
}

const claimOf = ([id, untilMs, groups]: NonNullable<RowWords['claim']>): LiveClaim => ({
  id,
  untilMs,
  groups: groups.map(groupOf),
});

const groupOf = ([places, sends, dueMs, maxMessages, progress]: GroupWords): Group => ({
  places: decodePlaces(places),
  sends,
  ...(dueMs === null ? {} : { dueMs }),
  ...(maxMessages === null ? {} : { maxMessages }),
  progress,
});

const dyingOf = ([places, sends, reason, end, diedMs]: DyingWords): DyingGroup => ({
  places: decodePlaces(places),
  sends,
  reason,
  end,
  diedMs,
});
