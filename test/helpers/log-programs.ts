import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAMS = ['append', 'exit', 'flood', 'full', 'standard'] as const;

export type LogProgram = (typeof PROGRAMS)[number];

// Types are checked by `npm run types`; the flags that matter here are those for the output.
const OPTIONS =
  '--ignoreConfig --noCheck --verbatimModuleSyntax --rewriteRelativeImportExtensions ' +
  '--target es2023 --module nodenext --types node --rootDir';

let folder: string | undefined;

afterAll(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});

/**
 * test/fixtures/log-*.ts and all they import as plain JavaScript, made once for a test file: a
 * child that compiles for itself takes three times as long to start.
 */
function compiled(): string {
  if (folder !== undefined) return folder;
  folder = mkdtempSync(join(tmpdir(), 'log-programs-'));
  const sources = PROGRAMS.map((name) => join(root, `test/fixtures/log-${name}.ts`));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [
    compiler,
    ...OPTIONS.split(' '),
    root,
    '--outDir',
    folder,
    ...sources,
  ]);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** The command that runs one of the programs. */
export const programCommand = (program: LogProgram, args: readonly string[]): string[] => [
  process.execPath,
  join(compiled(), `test/fixtures/log-${program}.js`),
  ...args,
];
