/** What the conformance suite does not show: what a row is written as, how it stays small, and what it forgets when. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Group, ReadMessage, Row } from '../../../src/queue/jetstream/row.ts';
import { knownOf, newRow } from '../../../src/queue/jetstream/row.ts';
import { advanced, candidates, needsFresh, take } from '../../../src/queue/jetstream/row-claim.ts';
import { decodeRow, encodeRow } from '../../../src/queue/jetstream/row-code.ts';
import { factsOf, ledgerOf } from '../../../src/queue/jetstream/row-due.ts';
import {
  bury,
  closed,
  done,
  followUpOf,
  purged,
  revived,
  withdrawn,
} from '../../../src/queue/jetstream/row-ends.ts';
import { settle } from '../../../src/queue/jetstream/row-settle.ts';
import {
  decodePlaces,
  decodeSequences,
  encodePlaces,
  encodeSequences,
} from '../../../src/queue/jetstream/sequences.ts';
import type { ClaimRequest } from '../../../src/queue/queue.ts';
import { DEAD, DELIVERED, ROW } from '../conformance/trial.ts';

const T0 = 1_800_000_000_000;
const WRITE = { ...ROW, waitMs: 0 };
const REQUEST: ClaimRequest = {
  tiers: ['healthy', 'failing'],
  maxMessages: 1000,
  maxBytes: 1e9,
  leaseMs: 1000,
};
const BOUNDS = { rowBytes: 0, maxPayload: 1_048_576 };
const ASKED = { id: 'x', request: REQUEST, nowMs: T0 + 100, lingerMs: 0, ...BOUNDS };

const NO_FOLLOW_UP = { dying: [], garbage: [], deadGarbage: [], reviving: [], lettersEnded: 0 };

const messageAt = (sequence: number, more: Partial<ReadMessage> = {}): ReadMessage => ({
  sequence,
  storedMs: T0 + sequence,
  format: 2,
  sizeBytes: 10,
  ...more,
});

const pageOf = (...sequences: number[]): ReadMessage[] => sequences.map((one) => messageAt(one));

const groupAt = (sequences: readonly number[], more: Partial<Group> = {}): Group => ({
  places: sequences.map((sequence) => ({ sequence, acceptedMs: T0 + sequence })),
  sends: 1,
  progress: null,
  ...more,
});

const claimed = (row: Row, ...sequences: number[]): Row => {
  const messages = pageOf(...sequences);
  const fresh = { messages, waiting: messages.length };
  return take(row, ASKED, { read: new Map(), fresh }).row;
};

const settled = (row: Row, ...verdicts: Parameters<typeof settle>[2]['verdicts']): Row =>
  settle(row, 'x', { verdicts, update: WRITE, nowMs: T0 + 100 }) as Row;

const FULL: Row = {
  ...newRow({ tier: 'failing', maxMessages: 7, maxBytes: 99, lane: { a: ['\ud83d', 1.5] } }),
  notBeforeMs: T0,
  cursor: 40,
  cursorMs: T0 + 40,
  touched: [groupAt([3, 4, 9], { dueMs: T0 + 77, maxMessages: 2, progress: { a: 1 } })],
  claim: { id: 'x', untilMs: T0 + 5, groups: [groupAt([8]), groupAt([2], { sends: 3 })] },
  dying: [
    {
      places: groupAt([30, 20]).places,
      sends: 1,
      reason: 'too-large',
      end: { status: 413 },
      diedMs: T0,
    },
  ],
  garbage: [1, 5, 6],
  gone: [44, 46],
  deadGarbage: [100],
  reviving: [101, 110],
  lettersEnded: 12,
  delivered: 12,
  discarded: { purged: 2 },
};

describe('places as text', () => {
  test('come back as they were, in whichever order', () => {
    const anyPlaces = fc.array(
      fc.record({ sequence: fc.nat({ max: 2 ** 48 }), acceptedMs: fc.nat({ max: 2 ** 48 }) }),
    );
    fc.assert(
      fc.property(anyPlaces, (places) => {
        expect(decodePlaces(encodePlaces(places))).toEqual(places);
      }),
      { seed: 1 },
    );
  });

  test.each([
    ['', []],
    ['a', [10]],
    ['a,1*3', [10, 11, 12, 13]],
    ['1*3,5', [1, 2, 3, 8]],
    ['5,-2', [5, 3]],
  ])('are %j of the sequences %j', (text, sequences) => {
    expect(encodeSequences(sequences)).toBe(text);
    expect(decodeSequences(text)).toEqual(sequences);
  });

  test('are short for a thousand that were accepted together', () => {
    const places = Array.from({ length: 1000 }, (_, index) => ({
      sequence: 5_000_000 + index,
      acceptedMs: T0,
    }));
    expect(encodePlaces(places).length).toBeLessThan(30);
  });

  test.each([',', '*3', '1*', 'A', '1.', '1 ', ' '])('are not %j', (text) => {
    expect(() => decodePlaces(text)).toThrow(RangeError);
  });
});

describe('a row as bytes', () => {
  test.each([FULL, newRow(ROW)])('comes back as it was', (row) => {
    expect(decodeRow(encodeRow(row))).toEqual(row);
  });

  test('is refused where it is of a form that this release does not know', () => {
    const newer = { ...JSON.parse(Buffer.from(encodeRow(FULL)).toString()), v: 2 };
    expect(() => decodeRow(Buffer.from(JSON.stringify(newer)))).toThrow(/has the form 2/);
  });

  test.each(['', 'secret', 'null', '7', '{}', '{"v":1}', '{"v":1,"row":[1,2'])(
    'is refused where it is %j, and not quoted',
    (text) => {
      const read = (): Row => decodeRow(Buffer.from(text));
      expect(read).toThrow(expect.objectContaining({ code: 'ERR_QUEUE_FAILED' }));
      expect(read).not.toThrow(/secret/);
    },
  );

  test('grows by little where a thousand messages of many applications fail together', () => {
    const sequences = Array.from({ length: 1000 }, (_, index) => 1 + index * 4711);
    const row = claimed(newRow(ROW), ...sequences);
    expect(encodeRow(row).length).toBeLessThan(15_000);
    const verdict = { kind: 'again', afterMs: 1000, progress: { failures: 1 } } as const;
    const failed = settled(row, ...sequences.map(() => verdict));
    expect(failed.touched).toHaveLength(1);
    expect(encodeRow(failed).length).toBeLessThan(15_000);
  });

  test('tells infinite numbers as the largest', () => {
    const row = claimed(newRow(ROW), 1);
    const update = { ...WRITE, maxMessages: Infinity, maxBytes: Infinity, waitMs: Infinity };
    const after = settle(row, 'x', { verdicts: [DELIVERED], update, nowMs: T0 }) as Row;
    const max = Number.MAX_SAFE_INTEGER;
    expect(after.application).toMatchObject({ maxMessages: max, maxBytes: max });
    expect(after.notBeforeMs).toBe(max);
    expect(decodeRow(encodeRow(after))).toEqual(after);
  });
});

describe('the cursor', () => {
  test('moves over what was claimed, and not over what was not', () => {
    const limited = { ...ASKED, request: { ...REQUEST, maxMessages: 2 } };
    const fresh = { messages: pageOf(3, 5, 9), waiting: 3 };
    const { row } = take(newRow(ROW), limited, { read: new Map(), fresh });
    expect([row.cursor, row.cursorMs]).toEqual([5, T0 + 5]);
    expect(row.claim?.groups.flatMap(({ places }) => places.map((one) => one.sequence))).toEqual([
      3, 5,
    ]);
  });

  test('stands still where what is known has something fresh before it', () => {
    const row = { ...newRow(ROW), garbage: [5] };
    expect(advanced(row, pageOf(3, 5))).toBe(row);
    expect(advanced(row, pageOf(5, 9)).cursor).toBe(5);
  });

  test('does not go back for a page that was read before it moved', () => {
    const row = { ...newRow(ROW), cursor: 8 };
    expect(advanced(row, pageOf(3, 5))).toBe(row);
  });

  test('lets go of what was removed behind it once it has passed that', () => {
    const row = { ...newRow(ROW), gone: [4, 7], garbage: [2] };
    expect(advanced(row, pageOf(2, 4, 6)).gone).toEqual([7]);
  });
});

const asked = (maxMessages: number, lingerMs = 0) => ({
  ...ASKED,
  lingerMs,
  request: { ...REQUEST, maxMessages },
});

describe('a claim', () => {
  test('takes nothing that was removed, though a lagging replica shows it', () => {
    const row = { ...newRow(ROW), gone: [4] };
    const fresh = { messages: pageOf(4, 6), waiting: 2 };
    const { taken } = take(row, ASKED, { read: new Map(), fresh });
    expect(taken.map(({ message }) => message.sequence)).toEqual([6]);
  });

  test('writes nothing where there is nothing to write', () => {
    const row = newRow(ROW);
    expect(take(row, ASKED, { read: new Map() })).toEqual({ row, taken: [] });
    expect(take(row, ASKED, { read: new Map() }).row).toBe(row);
    expect(take(FULL, ASKED, { read: new Map() }).row).toBe(FULL);
  });

  test('writes what was brought though it is not due', () => {
    const past = { sends: 2, ageMs: 5, dueInMs: 1000, progress: 7 };
    const messages = [messageAt(3, { past }), messageAt(4)];
    const { row, taken } = take(newRow(ROW), ASKED, {
      read: new Map(),
      fresh: { messages, waiting: 2 },
    });
    expect(taken.map(({ message }) => message.sequence)).toEqual([4]);
    expect(row.touched).toEqual([
      {
        places: [{ sequence: 3, acceptedMs: T0 - 2 }],
        sends: 2,
        dueMs: T0 + 1003,
        progress: 7,
      },
    ]);
    expect(row.cursor).toBe(4);
  });

  test('ends at the first message that was not read', () => {
    const row = { ...newRow(ROW), cursor: 9, touched: [groupAt([1, 2, 3])] };
    const read = new Map([1, 3].map((sequence) => [sequence, messageAt(sequence)]));
    const { taken } = take(row, ASKED, { read });
    expect(taken.map(({ message }) => message.sequence)).toEqual([1]);
  });

  test('takes what a server dated into the future', () => {
    const messages = [messageAt(3, { storedMs: T0 + 5000 }), messageAt(4)];
    const { taken } = take(newRow(ROW), ASKED, {
      read: new Map(),
      fresh: { messages, waiting: 2 },
    });
    expect(taken.map(({ message, ageMs }) => [message.sequence, ageMs])).toEqual([
      [3, 0],
      [4, 96],
    ]);
  });

  test('of a crowded row takes only what is known, as long as there is any', () => {
    const row = { ...newRow(ROW), cursor: 9, touched: [groupAt([1])] };
    const quarter = BOUNDS.maxPayload / 4;
    const crowded = { ...ASKED, rowBytes: quarter + 1 };
    expect(needsFresh(row, crowded)).toBe(false);
    expect(needsFresh({ ...row, touched: [] }, crowded)).toBe(true);
    expect(needsFresh(row, { ...crowded, rowBytes: quarter })).toBe(true);
    const fresh = { messages: pageOf(12), waiting: 1 };
    const read = new Map([[1, messageAt(1)]]);
    expect(take(row, crowded, { read, fresh }).taken).toHaveLength(1);
    expect(take(row, ASKED, { read, fresh }).taken).toHaveLength(2);
  });

  test('takes of what was brought only what a small value has room for, and the rest later', () => {
    const past = { sends: 1, ageMs: 10, dueInMs: 0, progress: null };
    const messages = Array.from({ length: 40 }, (_, index) => messageAt(index + 1, { past }));
    const small = { ...ASKED, maxPayload: 8192 };
    const { row, taken } = take(newRow(ROW), small, {
      read: new Map(),
      fresh: { messages, waiting: 40 },
    });
    expect(taken).toHaveLength(16);
    expect(row.cursor).toBe(16);
    expect(row.touched).toEqual([]);
  });

  test('needs no look at what is fresh where what is known fills it and was due before', () => {
    const row = {
      ...newRow(ROW),
      cursor: 9,
      cursorMs: T0 + 9,
      touched: [groupAt([7]), groupAt([2], { dueMs: T0 + 9 }), groupAt([3], { dueMs: T0 + 50 })],
    };
    expect(candidates(row, asked(2))).toEqual([7, 2]);
    expect([0, 1, 2, 3, 4].map((max) => needsFresh(row, asked(max)))).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
    expect(needsFresh(row, asked(1, 5))).toBe(true);
  });
});

describe('what is over', () => {
  test('is garbage until it was removed, and known behind the cursor from then on', () => {
    const row = settled(claimed(newRow(ROW), 1, 2, 3), DELIVERED, DEAD, { kind: 'moved' });
    expect(row).toMatchObject({ garbage: [1, 3], delivered: 1, discarded: { moved: 1 } });
    expect(ledgerOf(factsOf(row), { messages: 3, letters: 0 })).toEqual({
      accepted: 3,
      delivered: 1,
      pending: 0,
      dead: 1,
      discarded: { moved: 1 },
      tier: 'healthy',
    });
    const followUp = followUpOf(row);
    expect(followUp).toMatchObject({ garbage: [1, 3], deadGarbage: [] });
    const after = done({ ...row, cursor: 1 }, followUp ?? NO_FOLLOW_UP);
    expect(after).toMatchObject({ garbage: [], dying: [], gone: [2, 3] });
    expect(followUpOf(after)).toBeUndefined();
    expect(knownOf(after)).toEqual(new Set([2, 3]));
    expect(ledgerOf(factsOf(after), { messages: 0, letters: 1 })).toMatchObject({
      pending: 0,
      dead: 1,
    });
  });

  test('stays to be done where it came after what was done', () => {
    const first = settled(claimed(newRow(ROW), 1, 2), DELIVERED, DEAD);
    const followUp = followUpOf(first);
    const second = settled(claimed(first, 4, 5), DEAD, DELIVERED);
    const after = done(second, followUp ?? NO_FOLLOW_UP);
    expect(after.garbage).toEqual([5]);
    expect(after.dying.map(({ places }) => places[0]?.sequence)).toEqual([4]);
  });

  test('of the dead letters counts once, however often it is purged', () => {
    const once = purged(newRow(ROW), [7, 8], 'purged');
    expect(once).toMatchObject({ deadGarbage: [7, 8], discarded: { purged: 2 } });
    expect(purged(once, [8], 'moved')).toBe(once);
    expect(purged(once, [8, 9], 'moved')).toMatchObject({
      deadGarbage: [7, 8, 9],
      discarded: { purged: 2, moved: 1 },
    });
    expect(ledgerOf(factsOf(once), { messages: 0, letters: 5 })).toMatchObject({
      dead: 3,
      accepted: 5,
    });
    expect(done(once, { ...NO_FOLLOW_UP, deadGarbage: [7] }).deadGarbage).toEqual([8]);
  });

  test('of the dead letters waits again once, or is purged', () => {
    const row = purged(newRow(ROW), [7], 'purged');
    const both = revived(row, [7, 8, 9]);
    expect(both).toMatchObject({ reviving: [8, 9], deadGarbage: [7] });
    expect(revived(both, [8])).toBe(both);
    expect(purged(both, [8, 9], 'purged')).toBe(both);
    expect(revived(closed(row), [8])).toEqual(closed(row));
    expect(followUpOf(both)).toMatchObject({ reviving: [8, 9] });
    const { lettersEnded } = both;
    expect(done(both, { ...NO_FOLLOW_UP, reviving: [8], lettersEnded }).reviving).toEqual([9]);
  });

  test('of the dead letters is tried again where it was given up before, and is to wait again since', () => {
    const first = revived(newRow(ROW), [8]);
    const tried = followUpOf(first) ?? NO_FOLLOW_UP;
    const again = revived(done(first, tried), [8]);
    expect(done(again, tried).reviving).toEqual([8]);
    expect(done(again, followUpOf(again) ?? NO_FOLLOW_UP).reviving).toEqual([]);
  });

  test('is not what is claimed, over already, or behind the times', () => {
    const row = { ...claimed({ ...newRow(ROW), garbage: [4] }, 2), cursor: 3 };
    const messages = pageOf(1, 2, 4);
    const request = { messages, reason: 'horizon-passed', nowMs: T0 } as const;
    expect(bury(row, request)).toEqual({ row, buried: [] });
  });

  test('is all of a call that came too late, or none of it', () => {
    const row = { ...newRow(ROW), cursor: 3, garbage: [9] };
    expect(withdrawn(row, [5, 7])?.garbage).toEqual([5, 7, 9]);
    expect(withdrawn(row, [3, 7])).toBeUndefined();
    expect(withdrawn(row, [5, 9])).toBeUndefined();
  });
});

test('verdicts are one a message', () => {
  const row = claimed(newRow(ROW), 1, 2);
  expect(() => settled(row, DELIVERED)).toThrow('1 verdicts for 2 messages');
});
