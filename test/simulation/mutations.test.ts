import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { INVARIANTS } from './invariants.ts';
import { MUTATIONS } from './mutations.ts';

const source = (file: string): string =>
  readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');

test.each(MUTATIONS)('"$name" replaces a text that occurs once in $file', ({ file, from, to }) => {
  expect(source(file).split(from)).toHaveLength(2);
  expect(to).not.toBe(from);
});

test.each(Object.keys(INVARIANTS))('a planted bug breaks the invariant "%s"', (invariant) => {
  expect(MUTATIONS.map((mutation) => mutation.invariant)).toContain(invariant);
});

test('each planted bug has a unique name', () => {
  expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBe(MUTATIONS.length);
});
