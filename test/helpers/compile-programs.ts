/** Compiles programs to plain JavaScript, so that they start quickly. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { root } from './package-files.ts';

/** Environment of the compiler: fewer garbage collections save a third of its time. */
export const QUICK_COMPILER = { GOGC: '400' } as const;

// Only flags for the output: `npm run types` checks types.
const OPTIONS =
  '--ignoreConfig --noCheck --verbatimModuleSyntax --rewriteRelativeImportExtensions ' +
  '--target es2023 --module nodenext --types node';

/** Defines `require` for bundled CommonJS modules. */
const REQUIRE =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

const BUNDLE =
  '--bundle --splitting --platform=node --format=esm --target=node20 --log-level=warning';

/**
 * Like `compilePrograms`, but bundles all imports, including packages, into a few files: start-up takes
 * a third of the time. Not for a program whose test checks which modules are loaded.
 */
export function bundlePrograms(
  folder: string,
  programs: readonly string[],
  base: string = root,
): void {
  // Without an entry point, esbuild reads one from standard input.
  if (programs.length === 0) return;
  const bundler = join(root, 'node_modules/.bin/esbuild');
  const args = [...BUNDLE.split(' '), `--banner:js=${REQUIRE}`, `--outdir=${folder}`];
  const entries = ['--outbase=.', ...programs];
  spawnSync(bundler, [...args, ...entries], { cwd: base, stdio: 'inherit' });
}

/**
 * Compiles programs and their imports to plain JavaScript, in `folder` at the same paths as in the
 * package. A child that strips types itself takes four times as long to start. Compiler errors are
 * printed, and the program with the error does not run.
 */
export function compilePrograms(folder: string, programs: readonly string[]): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const args = [...OPTIONS.split(' '), '--rootDir', root, '--outDir', folder, ...programs];
  const env = { ...process.env, ...QUICK_COMPILER };
  spawnSync(process.execPath, [compiler, ...args], { cwd: root, stdio: 'inherit', env });
}

// Compiles the programs of test/fixtures once per test run (a `globalSetup` of vitest).

/** Programs that are started often, and whose tests do not check which modules are loaded. */
const BUNDLED =
  /(?:request-store-leak|sqlite-\w+|log-\w+|host-with-sender|sender-\w+|[\w-]*settings-\w+|close-busy-receiver|idle-connections)\.ts$/;

declare module 'vitest' {
  interface ProvidedContext {
    /** Contains `test/fixtures/<name>.js`. */
    readonly compiledFolder: string;
  }
}

/** Environment variable that passes the folder on to the next project of the same run. */
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
