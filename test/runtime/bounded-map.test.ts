import { expect, test } from 'vitest';
import { BoundedMap } from '../../src/runtime/bounded-map.ts';

test('drops the entry that was set longest ago, when it exceeds its limit', () => {
  const map = new BoundedMap<string | undefined, number>(2);
  map.set(undefined, 1).set('b', 2).set(undefined, 3);
  expect([...map]).toEqual([
    ['b', 2],
    [undefined, 3],
  ]);
  map.set('c', 4).set('d', 5);
  expect([...map]).toEqual([
    ['c', 4],
    ['d', 5],
  ]);
});
