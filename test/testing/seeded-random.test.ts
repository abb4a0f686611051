import { describe, expect, test } from 'vitest';
import { createSeededRandom } from '../../src/testing/seeded-random.ts';

const draw = (seed: number, count: number): number[] =>
  Array.from({ length: count }, createSeededRandom(seed));

/** The generator's first numbers, as other implementations of mulberry32 give them. */
test.each([
  [
    0,
    [
      0.26642920868471265, 0.0003297457005828619, 0.2232720274478197, 0.1462021479383111,
      0.46732782293111086,
    ],
  ],
  [1, [0.6270739405881613, 0.002735721180215478, 0.5274470399599522, 0.9810509674716741]],
  [2 ** 32 - 1, [0.8964226141106337]],
])('seed %i begins as mulberry32 does', (seed, numbers) => {
  expect(draw(seed, numbers.length)).toEqual(numbers);
});

test('two of one seed go the same way, and neither hears of the other', () => {
  const [one, other] = [createSeededRandom(7), createSeededRandom(7)];
  const first = [one(), one(), one()];
  expect([other(), other(), other()]).toEqual(first);
});

test('its numbers are spread over [0, 1)', () => {
  const tenths = new Map<number, number>();
  for (const number of draw(3, 10_000)) {
    const tenth = Math.floor(number * 10);
    tenths.set(tenth, (tenths.get(tenth) ?? 0) + 1);
  }
  expect([...tenths.keys()].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (const count of tenths.values()) expect(Math.abs(count - 1000)).toBeLessThan(120);
});

describe('integer', () => {
  test('gives every number between its bounds, and the bounds themselves', () => {
    const random = createSeededRandom(5);
    const numbers = Array.from({ length: 200 }, () => random.integer(-1, 2));
    expect([...new Set(numbers)].toSorted((a, b) => a - b)).toEqual([-1, 0, 1, 2]);
  });

  test('uses one draw', () => {
    const [counted, plain] = [createSeededRandom(1), createSeededRandom(1)];
    expect(counted.integer(1, 10)).toBe(1 + Math.floor(plain() * 10));
    expect(counted.integer(4, 4)).toBe(4);
    plain();
    expect(counted.integer(0, 2 ** 32 - 1)).toBe(plain() * 2 ** 32);
  });

  test.each([
    [2, 1],
    [0.5, 1],
    [0, 1.5],
    [0, 2 ** 32],
    [0, Number.POSITIVE_INFINITY],
    [Number.NaN, 1],
  ])('refuses the bounds %d and %d', (min, max) => {
    const random = createSeededRandom(1);
    expect(() => random.integer(min, max)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['max'] }),
    );
  });
});

describe('pick', () => {
  test('gives every element', () => {
    const random = createSeededRandom(9);
    const picked = Array.from({ length: 100 }, () => random.pick(['a', 'b', 'c']));
    expect([...new Set(picked)].toSorted()).toEqual(['a', 'b', 'c']);
  });

  test('refuses an empty list', () => {
    expect(() => createSeededRandom(1).pick([])).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path: ['list'],
        message: expect.stringContaining('list: expected at least one element'),
      }),
    );
  });
});

test.each([-1, 0.5, 2 ** 32, Number.NaN, Number.POSITIVE_INFINITY])(
  'refuses the seed %d',
  (seed) => {
    expect(() => createSeededRandom(seed)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path: ['seed'],
        message: expect.stringContaining('seed: expected a whole number from 0 to 4294967295'),
      }),
    );
  },
);
