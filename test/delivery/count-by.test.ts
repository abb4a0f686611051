import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countBy } from '../../src/delivery/enqueue.ts';

const listed = (keys: readonly string[]) => {
  const list = keys.map((key, index) => ({ key, index }));
  return [...countBy(list, ({ key }) => key)].map(({ first, count }) => [
    first.key,
    first.index,
    count,
  ]);
};

test('the keys may be those of every object', () => {
  const keys = ['__proto__', 'constructor', '', '__proto__'];
  expect(listed(keys)).toEqual([
    ['__proto__', 0, 2],
    ['constructor', 1, 1],
    ['', 2, 1],
  ]);
});

test('is what looking up each one gives', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', 'c', '')), (keys) => {
      const counts = [...new Set(keys)].map((key) => [
        key,
        keys.indexOf(key),
        keys.filter((one) => one === key).length,
      ]);
      expect(listed(keys)).toEqual(counts);
    }),
    { seed: 3 },
  );
});
