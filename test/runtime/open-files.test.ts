import { expect, test } from 'vitest';
import { maxOpenFiles } from '../../src/runtime/open-files.ts';

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max processes             63432                63432                processes
Max open files            256                  1048576              files
`;

test.each<[string, () => string, number]>([
  ['is the soft limit', () => LIMITS, 256],
  ['is infinite if unlimited', () => 'Max open files   unlimited  unlimited  files', Infinity],
  [
    'is infinite if it cannot be read',
    () => {
      throw new Error('ENOENT');
    },
    Infinity,
  ],
])('the number of open files %s', (_what, read, expected) => {
  expect(maxOpenFiles(read)).toBe(expected);
});

test('the file limit of this process is known on Linux', () => {
  expect(maxOpenFiles()).toBeGreaterThan(3);
});
