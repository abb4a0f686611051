import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as kit from '../../src/testing/index.ts';
import { root } from '../helpers/package-files.ts';

const page = readFileSync(join(root, 'docs/testing.md'), 'utf8');

/** Returns the first cells of the table with this heading cell. */
const rowsOf = (heading: string): (string | undefined)[] =>
  (page.split(`\n| ${heading} |`)[1] ?? '')
    .split('\n\n')[0]
    ?.split('\n')
    .flatMap((line) => line.match(/^\| `([\w-]+)`/)?.[1] ?? []) ?? [];

test('docs/testing.md lists exactly the faults', () => {
  expect(rowsOf('`fault`')).toEqual(kit.FAULTS);
});

test('docs/testing.md names every export', () => {
  const names = Object.keys(kit).filter((name) => name !== 'FAULTS');
  expect(names.filter((name) => !page.includes(`\`${name}(`))).toEqual([]);
});
