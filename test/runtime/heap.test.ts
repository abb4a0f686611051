import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Heap } from '../../src/runtime/heap.ts';

interface Item {
  readonly key: number;
  index: number;
}

const anyKeys = fc.array(fc.nat({ max: 30 }), { maxLength: 60 });

const tracked = (): Heap<Item> =>
  new Heap<Item>(
    (item, other) => item.key < other.key,
    (item, index) => {
      item.index = index;
    },
  );

const filled = (keys: readonly number[]): { heap: Heap<Item>; items: Item[] } => {
  const heap = tracked();
  const items = keys.map((key) => ({ key, index: -1 }));
  for (const item of items) heap.push(item);
  return { heap, items };
};

function drained(heap: Heap<Item>): number[] {
  const keys: number[] = [];
  while (heap.size > 0) {
    expect(heap.first()).toHaveProperty('index', 0);
    keys.push((heap.shift() as Item).key);
  }
  expect([heap.first(), heap.shift()]).toEqual([undefined, undefined]);
  return keys;
}

const sorted = (keys: readonly number[]): number[] => keys.toSorted((one, other) => one - other);

const isOdd = ({ key }: Item): boolean => key % 2 === 1;

describe('a heap', () => {
  test('returns items in order', () => {
    fc.assert(
      fc.property(anyKeys, (keys) => {
        const { heap } = filled(keys);
        expect(heap.size).toBe(keys.length);
        expect(drained(heap)).toEqual(sorted(keys));
      }),
    );
  });

  test('removes any item by its reported index, and keeps the order', () => {
    fc.assert(
      fc.property(anyKeys, fc.array(fc.nat(), { maxLength: 30 }), (keys, picks) => {
        const { heap, items } = filled(keys);
        for (const pick of picks.slice(0, keys.length)) {
          const [item] = items.splice(pick % items.length, 1) as [Item];
          heap.removeAt(item.index);
        }
        expect(drained(heap)).toEqual(sorted(items.map(({ key }) => key)));
      }),
    );
  });

  test('extracts matching items up to a limit, and keeps the rest in order', () => {
    fc.assert(
      fc.property(anyKeys, fc.nat({ max: 20 }), (keys, max) => {
        const { heap } = filled(keys);
        const taken = heap.extract(isOdd, max);
        expect(taken.every(isOdd)).toBe(true);
        expect(taken).toHaveLength(Math.min(max, keys.filter((key) => key % 2 === 1).length));
        expect(sorted([...taken.map(({ key }) => key), ...drained(heap)])).toEqual(sorted(keys));
      }),
    );
  });

  test('extracts a few of many items without sorting the others', () => {
    let comparisons = 0;
    const heap = new Heap<number>((one, other) => {
      comparisons += 1;
      return one < other;
    });
    for (let item = 0; item < 10_000; item += 1) heap.push((item * 7919) % 10_000);
    comparisons = 0;
    expect(heap.extract((item) => item % 2 === 0, 10)).toHaveLength(10);
    // Each takes twice the height of the heap. Building a new heap would take at least 10,000.
    expect(comparisons).toBeLessThan(10 * 2 * 14);
    expect(heap.size).toBe(9990);
  });
});
