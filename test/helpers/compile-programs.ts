/** Makes plain JavaScript of programs, so that they start quickly. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { root } from './package-files.ts';

/** For the environment of the compiler: a third of its work is to collect garbage that ends with it. */
export const QUICK_COMPILER = { GOGC: '400' } as const;

// Types are checked by `npm run types`; the flags that matter here are those for the output.
const OPTIONS =
  '--ignoreConfig --noCheck --verbatimModuleSyntax --rewriteRelativeImportExtensions ' +
  '--target es2023 --module nodenext --types node';

/** Where packages bring modules of CommonJS, which ask for others by `require`. */
const REQUIRE =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

const BUNDLE =
  '--bundle --splitting --platform=node --format=esm --target=node20 --log-level=warning';

/**
 * Like `compilePrograms`, but with all that a program imports in a few files beside it, packages
 * too: it starts with a third of the work. Not for a program whose test is about its modules.
 */
export function bundlePrograms(
  folder: string,
  programs: readonly string[],
  base: string = root,
): void {
  // Named none, it waits for one on standard input.
  if (programs.length === 0) return;
  const bundler = join(root, 'node_modules/.bin/esbuild');
  const args = [...BUNDLE.split(' '), `--banner:js=${REQUIRE}`, `--outdir=${folder}`];
  const entries = ['--outbase=.', ...programs];
  spawnSync(bundler, [...args, ...entries], { cwd: base, stdio: 'inherit' });
}

/**
 * Makes plain JavaScript of programs and all they import, in `folder` at the paths that they have
 * in the package: a child that compiles for itself takes four times as long to start. An error is
 * printed, and the program that has it will not run.
 */
export function compilePrograms(folder: string, programs: readonly string[]): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const args = [...OPTIONS.split(' '), '--rootDir', root, '--outDir', folder, ...programs];
  const env = { ...process.env, ...QUICK_COMPILER };
  spawnSync(process.execPath, [compiler, ...args], { cwd: root, stdio: 'inherit', env });
}

// Compiles the programs of test/fixtures once for a run of the suite (a `globalSetup` of vitest).

/** Those that are started often, and whose tests are not about modules. */
const BUNDLED =
  /(?:request-store-leak|sqlite-\w+|log-\w+|memory-queue-size|host-with-sender|sender-\w+|[\w-]*settings-\w+|close-busy-receiver|idle-connections)\.ts$/;

declare module 'vitest' {
  interface ProvidedContext {
    /** Holds `test/fixtures/<name>.js`. */
    readonly compiledFolder: string;
  }
}

/** Names the folder for the next project of the same run, which needs the same programs. */
const FOLDER = 'COMPILED_FIXTURES';

export default function setUp(project: TestProject): (() => void) | undefined {
  const known = process.env[FOLDER];
  if (known !== undefined) {
    project.provide('compiledFolder', known);
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'compiled-fixtures-'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const compile = (): void => {
    const names = readdirSync(join(root, 'test/fixtures')).filter((name) => name.endsWith('.ts'));
    const programs = names.map((name) => `test/fixtures/${name}`);
    compilePrograms(
      folder,
      programs.filter((program) => !BUNDLED.test(program)),
    );
    bundlePrograms(
      folder,
      programs.filter((program) => BUNDLED.test(program)),
    );
  };
  compile();
  project.onTestsRerun(compile);
  project.provide('compiledFolder', folder);
  process.env[FOLDER] = folder;
  return () => {
    delete process.env[FOLDER];
    rmSync(folder, { recursive: true, force: true });
  };
}
