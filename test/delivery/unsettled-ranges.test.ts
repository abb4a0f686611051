import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareRanges, UnsettledRanges } from '../../src/delivery/unsettled-ranges.ts';

/** Each open message is in one of the ranges, which are sorted. Fixes them: none gets a message later. */
function expectRangesOf(ranges: UnsettledRanges, open: ReadonlySet<number>): void {
  const all = ranges.fixBefore(2);
  expect(ranges.size).toBe(all.length);
  expect(all.reduce((sum, { unsettled }) => sum + unsettled, 0)).toBe(open.size);
  for (const one of open) {
    expect(all.filter(({ from, to }) => from <= one && one <= to)).toHaveLength(1);
  }
  for (const [index, { from }] of all.entries()) {
    expect(from).toBeGreaterThan(all[index - 1]?.to ?? 0);
  }
}

describe('unsettled ranges', () => {
  test('merge sequences in a row, and not those of another epoch', () => {
    const ranges = new UnsettledRanges();
    for (const sequence of [1, 3, 2, 4]) ranges.add(sequence, 1);
    ranges.add(5, 2);
    expect(ranges.fixBefore(3)).toMatchObject([
      { from: 1, to: 4, unsettled: 4, epoch: 1, hasSettledElsewhere: false },
      { from: 5, to: 5, unsettled: 1, epoch: 2, hasSettledElsewhere: false },
    ]);
    expect(ranges.fixBefore(2)).toHaveLength(1);
  });

  test('get no more messages once they are compared with the queue', () => {
    const ranges = new UnsettledRanges();
    ranges.add(1, 1);
    const [compared] = ranges.fixBefore(2);
    ranges.add(2, 1);
    expect(compared).toMatchObject({ from: 1, to: 1, unsettled: 1 });
    expect([ranges.size, ranges.unsettledTo(1), ranges.unsettledTo(0)]).toEqual([2, 2, 0]);
  });

  test('do not merge a message with a range that is lost', () => {
    const ranges = new UnsettledRanges();
    for (const sequence of [1, 3, 5, 7]) ranges.add(sequence, 1);
    ranges.remove(3);
    ranges.add(4, 1);
    expect(ranges.fixBefore(2).map(({ from, to }) => [from, to])).toEqual([
      [1, 1],
      [4, 5],
      [7, 7],
    ]);
    expect(ranges.remove(3)).toBeUndefined();
  });

  test('count like a set after any messages in any order', () => {
    const change = fc.record({ sequence: fc.integer({ min: 1, max: 40 }), isNew: fc.boolean() });
    const step = fc.oneof({ weight: 9, arbitrary: change }, fc.constant('fix' as const));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const ranges = new UnsettledRanges();
        const known = new Set<number>();
        const open = new Set<number>();
        for (const one of [...steps, 'fix' as const]) {
          let isSame = true;
          if (one === 'fix') expectRangesOf(ranges, open);
          else if (!one.isNew && (open.has(one.sequence) || !known.has(one.sequence))) {
            isSame = (ranges.remove(one.sequence) !== undefined) === open.delete(one.sequence);
          } else if (one.isNew && !known.has(one.sequence)) {
            ranges.add(one.sequence, 1);
            known.add(one.sequence);
            open.add(one.sequence);
          }
          expect(isSame).toBe(true);
          expect(ranges.unsettled).toBe(open.size);
        }
      }),
    );
  });
});

test.each([
  [0, []],
  [2000, [1000, 1000]],
  [2001, [1000, 1000, 1]],
])('a comparison of %i ranges asks the queue for at most 1000 at once', async (count, asked) => {
  const ranges = new UnsettledRanges();
  for (let sequence = 1; sequence <= 2 * count; sequence += 2) ranges.add(sequence, 1);
  const queries: number[] = [];
  await compareRanges(ranges.fixBefore(2), {
    countPending: async (query) => {
      queries.push(query.length);
      return query.length;
    },
    waitForSettlings: () => Promise.resolve(),
    onSettledElsewhere: () => {},
  });
  expect(queries).toEqual(asked);
});
