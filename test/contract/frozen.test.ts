import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deepFreeze } from '../../src/contract/frozen.ts';

const isFrozen = (value: unknown): boolean =>
  Object.isFrozen(value) &&
  (typeof value !== 'object' || value === null || Object.values(value).every(isFrozen));

test('a frozen value is equal, and nothing in it can be changed', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const before = JSON.stringify(value);
      expect(deepFreeze(value)).toBe(value);
      expect(isFrozen(value)).toBe(true);
      expect(JSON.stringify(value)).toBe(before);
    }),
    { seed: 5 },
  );
});
