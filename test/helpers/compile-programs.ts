import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './package-files.ts';

// Types are checked by `npm run types`; the flags that matter here are those for the output.
const OPTIONS =
  '--ignoreConfig --noCheck --verbatimModuleSyntax --rewriteRelativeImportExtensions ' +
  '--target es2023 --module nodenext --types node';

/**
 * Makes plain JavaScript of programs and all they import, in `folder` at the paths that they have
 * in the package: a child that compiles for itself takes four times as long to start. An error is
 * printed, and the program that has it will not run.
 */
export function compilePrograms(folder: string, programs: readonly string[]): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const args = [...OPTIONS.split(' '), '--rootDir', root, '--outDir', folder, ...programs];
  spawnSync(process.execPath, [compiler, ...args], { cwd: root, stdio: 'inherit' });
}
