import { expect, test } from 'vitest';
import { keptName, MAX_KEPT_LENGTH } from '../../src/incident/incident-store.ts';

test('a short name is kept as it is, its parts apart', () => {
  expect(keptName(['shop-1', 'i-1'])).toBe('["shop-1","i-1"]');
  expect(keptName(['shop-1","i', '-1'])).not.toBe(keptName(['shop-1', 'i","-1']));
});

test.each([
  [MAX_KEPT_LENGTH - 1, MAX_KEPT_LENGTH - 1],
  [MAX_KEPT_LENGTH, MAX_KEPT_LENGTH],
  [MAX_KEPT_LENGTH + 1, 44],
  [10_000_000, 44],
])('a name of %i characters takes %i', (length, kept) => {
  const text = 'x'.repeat(length - '[""]'.length);
  expect(keptName([text])).toHaveLength(kept);
  expect(keptName([`${text.slice(1)}y`])).not.toBe(keptName([text]));
});
