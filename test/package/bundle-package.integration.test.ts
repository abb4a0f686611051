import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { root } from '../helpers/package-files.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';

type BundlePackage = (
  root: string,
  outdir: string,
  groups: readonly (readonly string[])[],
) => Promise<void>;

let bundlePackage: BundlePackage;

beforeAll(async () => {
  const script = (await import(/* @vite-ignore */ join(root, 'scripts/bundle-package.mjs'))) as {
    readonly bundlePackage: BundlePackage;
  };
  ({ bundlePackage } = script);
});

it('rejects a class that refers to itself in its body, which the bundler would rename', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'src/log'), { recursive: true });
  const manifest = { exports: { '.': { default: './dist/index.js' } }, bin: {} };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'src/index.ts'), 'export class A { copy() { return new A(); } }\n');
  writeFileSync(join(folder, 'src/log/writer.ts'), 'export class B {}\n');
  await expect(bundlePackage(folder, join(folder, 'dist'), [])).rejects.toThrow(': _A;');
});
