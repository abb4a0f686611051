/** Compiles the programs of test/fixtures once for a run of the suite (a `globalSetup` of vitest). */
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundlePrograms, compilePrograms } from './compile-programs.ts';
import { root } from './package-files.ts';

/** Those that are started often, and whose tests are not about modules. */
const BUNDLED =
  /(?:request-stores|sqlite-\w+|log-\w+|queue-memory|sender-\w+|settings-\w+|receiver-close|wire-idle)\.ts$/;

declare module 'vitest' {
  interface ProvidedContext {
    /** Holds `test/fixtures/<name>.js`. */
    readonly compiledFolder: string;
  }
}

export default function setUp(project: TestProject): () => void {
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
  return () => rmSync(folder, { recursive: true, force: true });
}
