import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { root } from '../helpers/package-files.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';

type JoinModules = (
  root: string,
  outdir: string,
  groups: readonly (readonly string[])[],
) => Promise<void>;

let joinModules: JoinModules;

beforeAll(async () => {
  const script = (await import(/* @vite-ignore */ join(root, 'scripts/join-modules.mjs'))) as {
    readonly joinModules: JoinModules;
  };
  ({ joinModules } = script);
});

it('refuses a class that names itself in its own body, which would be shown by another name', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'src/log'), { recursive: true });
  const manifest = { exports: { '.': { default: './dist/index.js' } }, bin: {} };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'src/index.ts'), 'export class A { copy() { return new A(); } }\n');
  writeFileSync(join(folder, 'src/log/writer.ts'), 'export class B {}\n');
  await expect(joinModules(folder, join(folder, 'dist'), [])).rejects.toThrow(': _A;');
});
