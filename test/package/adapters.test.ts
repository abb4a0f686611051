/** A new host adapter is not forgotten: each one in `exports` has a place in the docs and an example. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesBelow, manifest, root } from '../helpers/package-files.ts';

const ADAPTERS = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
  JSON.stringify(target).includes('/capture/adapters/') ? [subpath.slice(1)] : [],
);

test('there are adapters', () => {
  expect(ADAPTERS).toContain('/express');
});

test.each(['docs/capture.md', 'docs/getting-started.md'])('each adapter is named in %s', (file) => {
  const text = readFileSync(join(root, file), 'utf8');
  expect(ADAPTERS.filter((subpath) => !text.includes(subpath))).toEqual([]);
});

test('each adapter is used by an example or a recipe', () => {
  const folders = ['examples', 'docs/recipes'];
  const files = folders.flatMap((folder) => filesBelow(folder).map((file) => join(folder, file)));
  const programs = files.filter((file) => file.endsWith('.ts'));
  const text = programs.map((file) => readFileSync(join(root, file), 'utf8')).join('');
  expect(ADAPTERS.filter((subpath) => !text.includes(`${manifest.name}${subpath}'`))).toEqual([]);
});
