import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { INVARIANTS } from './invariants.ts';
import { plantedBugs } from './planted-bugs.ts';

const BUGS = plantedBugs();

const source = (file: string): string =>
  readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');

test.each(BUGS)('"$name" replaces a text that occurs once in $file', ({ file, from, to }) => {
  expect(source(file).split(from)).toHaveLength(2);
  expect(to).not.toBe(from);
});

test('each invariant has a planted bug, and each bug an invariant', () => {
  const broken = new Set(BUGS.map(({ invariant }) => invariant));
  expect([...broken].toSorted()).toEqual(Object.keys(INVARIANTS).toSorted());
});

test('each planted bug has a unique name', () => {
  expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length);
});
