/** Each host adapter in `exports` is in the docs and in an example. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { entries, filesBelow, manifest, textOf } from '../helpers/package-files.ts';

const ADAPTERS = entries
  .filter((entry) => entry.default.includes('/capture/adapters/'))
  .map(({ subpath }) => subpath.slice(1));

test('there are adapters', () => {
  expect(ADAPTERS).toContain('/express');
});

test.each(['docs/capture.md', 'docs/getting-started.md'])('each adapter is named in %s', (file) => {
  const text = textOf(file);
  expect(ADAPTERS.filter((subpath) => !text.includes(subpath))).toEqual([]);
});

test('each adapter is used by an example or a recipe', () => {
  const folders = ['examples', 'docs/recipes'];
  const files = folders.flatMap((folder) => filesBelow(folder).map((file) => join(folder, file)));
  const programs = files.filter((file) => file.endsWith('.ts'));
  const text = programs.map(textOf).join('');
  expect(ADAPTERS.filter((subpath) => !text.includes(`${manifest.name}${subpath}'`))).toEqual([]);
});
