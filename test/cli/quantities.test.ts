import { expect, it } from 'vitest';
import { counted, durationText, wholeNumber } from '../../src/cli/quantities.ts';

it.each([
  [0, '0 ms'],
  [12.4, '12 ms'],
  [999, '999 ms'],
  [1000, '1 s'],
  [1540, '1.5 s'],
  [9990, '10 s'],
  [59_400, '59 s'],
  [60_000, '1 min'],
  [5_400_000, '1.5 h'],
  [36 * 3_600_000, '1.5 d'],
])('%d ms are %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

it.each([
  [0, '0 messages'],
  [1, '1 message'],
  [2000, '2,000 messages'],
])('%d are %s', (count, text) => {
  expect(counted(count, 'message')).toBe(text);
});

it('groups digits', () => {
  expect(wholeNumber(1_234_567)).toBe('1,234,567');
});
