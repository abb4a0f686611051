import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONSOLE, usesOf } from '../helpers/ambient-uses.ts';
import { importCycles, importFaults, innerBarrels } from '../helpers/import-rules.ts';
import { manifest, root, sources } from '../helpers/package-files.ts';
import { importsOf } from '../helpers/source-imports.ts';
import { IMPORT_TABLE, type ImportRow } from './import-table.ts';

const entries = Object.values(manifest.exports).flatMap((target) =>
  typeof target === 'string' ? [] : [target.default.replace('./dist/', '').replace('.js', '.ts')],
);

const names = (list: readonly string[] = []): string[] => list.map((name) => `\`${name}\``);
const cell = (list: readonly string[]): string => list.join(', ') || 'nothing';

/** Without what scripts generate. */
const written = [...sources].filter(([path]) => !path.endsWith('.generated.ts'));

describe('the sources', () => {
  it('import only what the table allows', () => {
    expect(importFaults(sources, IMPORT_TABLE)).toEqual([]);
  });

  it('have no import cycle, not even of types', () => {
    expect(importCycles(sources)).toEqual([]);
  });

  it('have an index.ts only where one is published', () => {
    expect(innerBarrels(sources, entries)).toEqual([]);
  });

  it('are at most 300 lines a file', () => {
    const long = written.filter(([, text]) => text.split('\n').length > 301);
    expect(long.map(([path]) => path)).toEqual([]);
  });

  it('read the time, chance and timers only in system/', () => {
    const found = [...sources].flatMap(([path, text]) =>
      path.startsWith('system/') ? [] : usesOf(text).map((use) => ({ path, ...use })),
    );
    expect(found).toEqual([]);
  });

  it('never print', () => {
    const found = [...sources].flatMap(([path, text]) =>
      usesOf(text, CONSOLE).map((use) => ({ path, ...use })),
    );
    expect(found).toEqual([]);
  });

  it('keep no state that changes at the level of a module, but the source of ids', () => {
    // What is made once stays as it is: see once.ts.
    const changing = written.filter(([, text]) => /^(?:export )?(?:let|var)\b/m.test(text));
    const sourcesOfIds = [...sources].filter(([, text]) => /^\S.*= createIdSource\(/m.test(text));
    expect([changing, sourcesOfIds].map((found) => found.map(([path]) => path))).toEqual([
      [],
      ['system/id.ts'],
    ]);
  });

  it('are each matched by a row, and each row matches a source', () => {
    const idle = IMPORT_TABLE.flatMap(({ files }) => files).filter(
      (file) => ![...sources.keys()].some((path) => path.startsWith(file)),
    );
    expect(idle).toEqual([]);
  });

  it('stand in the table of ARCHITECTURE.md row by row', () => {
    const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
    const rows = IMPORT_TABLE.map(({ files, ours, oursAsTypes, external, externalAsTypes }) => {
      const types = (list?: readonly string[]) => names(list).map((name) => `types of ${name}`);
      const first = cell([...names(ours), ...types(oursAsTypes)]);
      const second = cell([...names(external), ...types(externalAsTypes)]);
      return `| ${cell(names(files))} | ${first} | ${second} |`;
    });
    expect(page.split('\n').filter((line) => line.startsWith('| `'))).toEqual(rows);
  });
});

describe('the judge of imports', () => {
  const table: readonly ImportRow[] = [
    { files: ['errors.ts'], ours: [], external: [] },
    {
      files: ['wire/'],
      ours: ['errors.ts'],
      oursAsTypes: ['outcome.ts'],
      external: ['undici', 'node:net'],
      externalAsTypes: ['pino'],
    },
    { files: ['outcome.ts', 'index.ts'], ours: ['errors.ts'], external: [] },
  ];
  const others = { 'errors.ts': '', 'outcome.ts': '', 'index.ts': '', 'wire/own.ts': '' };
  const judge = (text: string, path = 'wire/post.ts') =>
    importFaults(new Map(Object.entries({ ...others, [path]: text })), table);

  it.each([
    ['an allowed package', "import { request } from 'undici';"],
    ['a deep import of an allowed package', "import type Agent from 'undici/types/agent.js';"],
    ['an allowed builtin', "import { isIP } from 'node:net';"],
    ['an allowed file', "import { SecurityEventError } from '../errors.ts';"],
    ['its own folder', "export { own } from './own.ts';"],
    ['a type of a file that lends types', "import type { Outcome } from '../outcome.ts';"],
    ['a type of a package that lends types', "import type { Logger } from 'pino';"],
    ['a forbidden name in a comment', "// import 'zod';\n/* import 'zod' */"],
    ['a forbidden name in a string', 'const text = "import \'zod\'";'],
    ['a forbidden name in a template', `const text = \`import "zod"; \${name} import("zod")\`;`],
    ['a forbidden name in a regular expression', "const found = text.match(/import 'zod'/);"],
    ['a method called import', "loader.import('zod');"],
  ])('lets %s pass', (_, text) => {
    expect(judge(text)).toEqual([]);
  });

  it.each([
    ['a package', "import * as z from 'zod';", 'may not import zod'],
    ['a scoped package', "import '@scope/name/deep';", 'may not import @scope/name/deep'],
    ['a builtin', "import fs from 'node:fs';", 'may not import node:fs'],
    ['a builtin below an allowed one', "import 'node:net/x';", 'may not import node:net/x'],
    ['a builtin without prefix', "import net from 'net';", 'may not import net'],
    ['a side effect', "import 'zod';", 'may not import zod'],
    ['a type', "import type { z } from 'zod';", 'may not import zod'],
    [
      'a value of a package that lends types',
      "import { pino } from 'pino';",
      'may not import pino',
    ],
    ['inline types', "import { type A } from '../outcome.ts';", 'may not import outcome.ts'],
    ['a re-export', "export { z as y } from 'zod';", 'may not import zod'],
    ['a star re-export', "export * from 'zod';", 'may not import zod'],
    ['a re-export of a type', "export type { z } from 'zod';", 'may not import zod'],
    ['a dynamic import', "const z = await import('zod');", 'may not import zod'],
    ['a widened name', "await import('zod' as string);", 'may not import zod'],
    ['an import in a template', `const a = \`\${await import('zod')}\`;`, 'may not import zod'],
    ['an import type', "let z: import('zod').ZodType;", 'may not import zod'],
    ['a require', "const z = require('zod');", 'may not import zod'],
    ['a loader', "process.getBuiltinModule('node:fs');", 'may not import node:fs'],
    ['a made loader', "createRequire(here)('zod');", 'may not import zod'],
    ['a named loader', "const load = createRequire(here);\nload('zod');", 'may not import zod'],
    ['a computed name', 'await import(name);', 'imports a computed name'],
    ['the root', "import { a } from '../index.ts';", 'imports the root index.ts'],
    ['a missing file', "import './gone.ts';", 'imports ./gone.ts, which does not exist'],
    ['a value of a file that lends types', "import '../outcome.ts';", 'may not import outcome.ts'],
  ])('refuses %s', (_, text, fault) => {
    const line = text.split('\n').length;
    expect(judge(text)).toEqual([`wire/post.ts:${line}: ${fault}`]);
  });

  it('refuses a type where not even types are lent', () => {
    expect(judge("import type { A } from './wire/own.ts';", 'outcome.ts')).toEqual([
      'outcome.ts:1: may not import wire/own.ts (type)',
    ]);
  });

  it('lets who is named a customer of the package import the root', () => {
    const customers = [{ files: ['cli/'], ours: ['index.ts'], external: [] }];
    const files = new Map([
      ['index.ts', ''],
      ['cli/main.ts', "import { a } from '../index.ts';"],
    ]);
    expect(importFaults(files, [...customers, ...table])).toEqual([]);
  });

  it('refuses a file that no row covers', () => {
    expect(judge('', 'stray.ts')).toEqual(['stray.ts: no row of the import table covers it']);
  });

  it('names the line of an import after comments, templates and multi-line strings', () => {
    const text = `/* 1\n2 */ const a = \`3\n\${4}\n5\`;\nimport {\n  b,\n} from 'zod';`;
    expect(importsOf(text)).toEqual([{ specifier: 'zod', typeOnly: false, line: 5 }]);
  });
});

describe('the search for cycles', () => {
  it.each<[string, Record<string, string>, string[]]>([
    ['itself', { 'a.ts': "import './a.ts';" }, ['a.ts -> a.ts']],
    [
      'two files by types',
      { 'a.ts': "import type { B } from './b.ts';", 'b.ts': "export * from './a.ts';" },
      ['a.ts -> b.ts -> a.ts'],
    ],
    [
      'three files over folders',
      { 'a.ts': "import './x/b.ts';", 'x/b.ts': "import './c.ts';", 'x/c.ts': "import '../a.ts';" },
      ['a.ts -> x/b.ts -> x/c.ts -> a.ts'],
    ],
    [
      'none where two ways lead to one file',
      { 'a.ts': "import './b.ts';\nimport './c.ts';", 'b.ts': "import './c.ts';", 'c.ts': '' },
      [],
    ],
  ])('finds %s', (_, files, cycles) => {
    expect(importCycles(new Map(Object.entries(files)))).toEqual(cycles);
  });
});

describe('the search for ambient uses', () => {
  it.each([
    ['Date.now()', ['Date.now']],
    ['new Date()', ['newDate()']],
    ['new Date(at)', []],
    ['Math.random()', ['Math.random']],
    ['setTimeout(f, 1)', ['setTimeout']],
    ['globalThis.setTimeout(f, 1)', ['setTimeout']],
    ['socket.setTimeout(1)', []],
    ['AbortSignal.timeout(1)', ['AbortSignal.timeout']],
    ["'Date.now()' // Date.now()", []],
    [`\`\${Date.now()}\``, ['Date.now']],
    ['a / Date.now() / b', ['Date.now']],
    ['return /Date.now()/;', []],
  ])('%s gives %j', (text, found) => {
    expect(usesOf(text).map(({ name }) => name)).toEqual(found);
  });

  it.each([
    ['console.log(1)', ['console']],
    ['process.stdout.write(line)', ['process.stdout.write']],
    ['process.stdout.fd', []],
  ])('%s prints %j', (text, found) => {
    expect(usesOf(text, CONSOLE).map(({ name }) => name)).toEqual(found);
  });
});

it('finds in each source what a plain search of formatted sources finds', () => {
  const STATEMENT = /^(?:(?:import|export)\b[^;=]*? from|import) '([^']+)';$/gm;
  for (const [path, text] of sources) {
    const plain = [...text.matchAll(STATEMENT)].map((match) => match[1]);
    const found = importsOf(text).map(({ specifier }) => specifier);
    expect({ path, found: found.filter((name) => plain.includes(name)) }).toEqual({
      path,
      found: plain,
    });
  }
});

it('finds an index.ts that is not published', () => {
  const files = new Map([
    ['index.ts', ''],
    ['log/index.ts', ''],
    ['log/a.ts', ''],
  ]);
  expect(innerBarrels(files, ['index.ts'])).toEqual(['log/index.ts']);
});
