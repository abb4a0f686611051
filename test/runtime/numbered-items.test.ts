import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NumberedItems } from '../../src/runtime/numbered-items.ts';

/** Returns the bytes of objects that have outlived collections of young objects. */
const oldBytes = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')
    ?.space_used_size as number;

test('has the items that were added and not removed', () => {
  const items = new NumberedItems<string>();
  const known = new Map<number, string>();
  fc.assert(
    fc.property(fc.array(fc.option(fc.string())), (steps) => {
      for (const added of steps) {
        const [oldest] = known.keys();
        if (added !== null) known.set(items.add(added), added);
        else if (oldest !== undefined) {
          items.remove(oldest);
          known.delete(oldest);
        }
        expect(items.size).toBe(known.size);
        expect([...items].toSorted()).toEqual([...known.values()].toSorted());
      }
    }),
    { seed: 7 },
  );
});

test('returns the item that it removes', () => {
  const items = new NumberedItems<string>();
  const numbers = ['first', 'second'].map((item) => items.add(item));
  expect(numbers.map((number) => items.remove(number))).toEqual(['first', 'second']);
});

test('iterates over all items while they are removed', () => {
  const items = new NumberedItems<number>();
  for (let number = 0; number < 5; number += 1) items.add(number);
  const seen: number[] = [];
  for (const number of items) {
    seen.push(number);
    items.remove(number);
  }
  expect(seen).toEqual([0, 1, 2, 3, 4]);
  expect(items.size).toBe(0);
});

test('leaves removed items to the collection of young objects', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (how?: { type: 'minor' }) => void;
  const items = new NumberedItems<number[]>();
  const addAndRemove = (count: number): void => {
    const present: number[] = [];
    for (let done = 0; done < count; done += 1) {
      present.push(items.add(Array.from({ length: 100 }, () => done)));
      if (present.length === 8) for (const number of present.splice(0)) items.remove(number);
      if (done % 100 === 0) collect({ type: 'minor' });
    }
  };
  addAndRemove(1000);
  collect();
  const before = oldBytes();
  addAndRemove(10_000);
  // With a Map 6 MB are kept until a full collection.
  expect(oldBytes() - before).toBeLessThan(500_000);
});
