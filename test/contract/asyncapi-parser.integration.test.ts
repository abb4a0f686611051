/** Validates the AsyncAPI document with the format's own parser. It brings 168 packages, so only nightly tests install it. */
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { asyncApi } from '../helpers/api-documents.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';

/** Takes the packages of one day, whatever was published since. */
const INSTALL = 'install --before=2026-11-27 --ignore-scripts --no-audit --no-fund'.split(' ');

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

test.runIf(quickOrNightly(false, true))(
  'the AsyncAPI document has no errors and no warnings in the parser of AsyncAPI',
  async () => {
    const folder = temporaryFolder();
    cpSync(path('asyncapi-parser'), folder, { recursive: true });
    execFileSync('npm', INSTALL, { cwd: folder });
    const faultsOf = (schema: object): unknown =>
      JSON.parse(
        execFileSync(process.execPath, ['validate.mjs'], {
          cwd: folder,
          input: JSON.stringify(schema),
          encoding: 'utf8',
        }),
      );
    expect(faultsOf(asyncApi.schema)).toEqual([]);
    expect(faultsOf({ ...asyncApi.schema, operations: { a: { action: 'shout' } } })).not.toEqual(
      [],
    );
  },
  120_000,
);
