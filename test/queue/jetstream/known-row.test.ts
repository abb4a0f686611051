/** Rows that are read out only while there is room for it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KnownRow, RowRoom } from '../../../src/queue/jetstream/known-row.ts';
import { type Group, knownOf, newRow, type Row } from '../../../src/queue/jetstream/row.ts';
import { encodeRow } from '../../../src/queue/jetstream/row-code.ts';
import { claimableAtMs, factsOf, readyAtMs } from '../../../src/queue/jetstream/row-due.ts';
import { lapse } from '../../../src/queue/jetstream/row-settle.ts';
import { ROW } from '../conformance/trial.ts';

const rowOf = (cursor: number, sequences: readonly number[]): Row => ({
  ...newRow(ROW),
  cursor,
  touched: [
    {
      places: sequences.map((sequence) => ({ sequence, acceptedMs: 5 * sequence })),
      sends: 1,
      dueMs: 7,
      progress: { a: 1 },
    },
  ],
});

const known = (room: RowRoom, row: Row): KnownRow => new KnownRow(room, row, encodeRow(row));

const ascending = fc
  .uniqueArray(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 30 })
  .map((sequences) => sequences.toSorted((one, other) => one - other));

describe('the facts of a row', () => {
  test('tell when it is ready as the row does, with a lease that is over too', () => {
    const property = fc.property(
      ascending,
      fc.nat(3000),
      fc.nat(20),
      fc.option(fc.nat(2000), { nil: undefined }),
      (sequences, nowMs, lingerMs, firstMs) => {
        const [{ places }] = rowOf(0, sequences).touched as [Group];
        const half = Math.ceil(places.length / 2);
        const row: Row = {
          ...newRow({ ...ROW, maxMessages: 10 }),
          notBeforeMs: 300,
          touched: [{ places: places.slice(half), sends: 1, progress: null }],
          claim: {
            id: 'x',
            untilMs: 1500,
            groups: [{ places: places.slice(0, half), sends: 2, dueMs: 400, progress: null }],
          },
        };
        const fresh = firstMs === undefined ? undefined : { firstMs, waiting: 2 };
        expect(readyAtMs(factsOf(row), fresh, { lingerMs, nowMs })).toBe(
          claimableAtMs(lapse(row, nowMs), fresh, lingerMs),
        );
      },
    );
    fc.assert(property, { seed: 9, numRuns: 300 });
  });
});

describe('a row that is known', () => {
  test('is the same whether it was folded meanwhile or not', () => {
    const property = fc.property(ascending, fc.nat(200), (sequences, cursor) => {
      const row = rowOf(cursor, sequences);
      const folded = known(new RowRoom(1000), row);
      expect(folded.state).toBe(row);
      folded.fold();
      const all = knownOf(row);
      for (let sequence = 0; sequence <= 201; sequence += 1)
        expect(folded.knows(sequence)).toBe(all.has(sequence));
      expect(folded.state).toEqual(row);
      expect([folded.facts, folded.cursor]).toEqual([factsOf(row), cursor]);
    });
    fc.assert(property, { seed: 9, numRuns: 100 });
  });

  test('is folded once others need the room, and read out again when it is needed', () => {
    const room = new RowRoom(100);
    const rows = [0, 1, 2].map((cursor) => rowOf(cursor, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
    const all = rows.map((row) => known(room, row));
    // Sixty of a hundred.
    expect(all.map((one, index) => one.state === rows[index])).toEqual([true, true, true]);
    const large = rowOf(
      3,
      Array.from({ length: 80 }, (_, index) => index + 1),
    );
    const last = known(room, large);
    expect(last.state).toBe(large);
    expect(all.map((one, index) => one.state === rows[index])).toEqual([false, false, false]);
    expect(all.map(({ state }) => state)).toEqual(rows);
  });

  test('takes no room once another has taken its place', () => {
    const room = new RowRoom(50);
    const first = rowOf(0, [1, 2, 3]);
    const kept = known(room, first);
    for (let times = 0; times < 100; times += 1) known(room, rowOf(0, [1, 2, 3])).end();
    expect(kept.state).toBe(first);
  });

  test('does not hold on to all that came with it', () => {
    const row = rowOf(0, [1]);
    const encoded = encodeRow(row);
    const chunk = new Uint8Array(100_000);
    chunk.set(encoded, 500);
    const part = chunk.subarray(500, 500 + encoded.length);
    const folded = new KnownRow(new RowRoom(10), row, part);
    folded.fold();
    chunk.fill(0);
    expect(folded.state).toEqual(row);
    expect(folded.bytes).toBe(encoded.length);
  });
});
