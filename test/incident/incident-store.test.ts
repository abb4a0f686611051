import { expect, test } from 'vitest';
import { compactKey, MAX_KEY_LENGTH } from '../../src/incident/incident-store.ts';

test('a short name is kept as it is, its parts apart', () => {
  expect(compactKey(['shop-1', 'i-1'])).toBe('["shop-1","i-1"]');
  expect(compactKey(['shop-1","i', '-1'])).not.toBe(compactKey(['shop-1', 'i","-1']));
});

test.each([
  [MAX_KEY_LENGTH - 1, MAX_KEY_LENGTH - 1],
  [MAX_KEY_LENGTH, MAX_KEY_LENGTH],
  [MAX_KEY_LENGTH + 1, 44],
  [10_000_000, 44],
])('a name of %i characters takes %i', (length, kept) => {
  const text = 'x'.repeat(length - '[""]'.length);
  expect(compactKey([text])).toHaveLength(kept);
  expect(compactKey([`${text.slice(1)}y`])).not.toBe(compactKey([text]));
});
