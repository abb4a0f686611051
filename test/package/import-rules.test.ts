import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sources as allSources, manifest } from '../helpers/package-files.ts';

/** The sources that people write. */
const sources = new Map([...allSources].filter(([path]) => !path.endsWith('.generated.ts')));

/**
 * Who may import whom. The first cell names files below src/, the second what they may import of
 * ours, the third which packages and builtins. A path stands for all paths that begin with it.
 * The first row that covers a file judges it. Files of one row may import each other, and every
 * file may import those of the first row. An import of a type counts like any other.
 */
const TABLE = `
closest-name.ts errors.ts lazy-value.ts option-rules.ts own-properties.ts | - | -
index.ts | contract/ delivery/ incident/ log/ projection/ queue/queue.ts reporter/ settings/ webhook/ | -
runtime/ | - | node:async_hooks node:crypto node:diagnostics_channel node:events node:fs node:timers node:util uuid
address/ | - | ipaddr.js node:net
contract/ | - | zod
projection/ | contract/ | -
incident/ | runtime/ | node:crypto
log/ | contract/ runtime/ | node:diagnostics_channel node:fs node:util pino
settings.ts | configure/ settings/ | -
configure/ | contract/ delivery/ settings/ runtime/ webhook/ | node:crypto node:fs/promises node:path zod
settings/ | contract/ runtime/ webhook/http/webhook-url.ts | node:crypto node:diagnostics_channel node:fs node:path node:util zod
queue/memory | queue/message-classes.ts queue/queue.ts queue/stored-values.ts runtime/ | -
queue/sqlite/worker/ | incident/ queue/queue.ts queue/stored-values.ts queue/sqlite/protocol.ts runtime/ | node:fs node:module node:path node:process node:sqlite node:worker_threads node:zlib
queue/sqlite | incident/ queue/message-classes.ts queue/queue.ts queue/stored-values.ts queue/sqlite/worker/ runtime/ | node:diagnostics_channel node:fs node:module node:path node:process node:worker_threads
queue/postgres | incident/ queue/queue.ts queue/stored-values.ts runtime/ | pg
queue/ | - | -
webhook/http/ | address/ runtime/ webhook/outcome.ts | node:dns node:module node:net node:tls undici
delivery/ | contract/ projection/ queue/memory.ts queue/message-classes.ts queue/queue.ts settings/ runtime/ webhook/ | node:crypto node:diagnostics_channel node:util
webhook/ | contract/ queue/message-classes.ts queue/queue.ts runtime/ webhook/http/ | node:crypto node:util
capture/adapters/nest.ts | capture/ index.ts reporter/ | @nestjs/common @nestjs/core
capture/ | address/ contract/ runtime/ | maxmind node:fs node:http node:util
reporter/ | address/ capture/ contract/ incident/ log/ projection/ queue/queue.ts runtime/ webhook/encoder.ts delivery/ | node:diagnostics_channel node:net node:util
receiver/ | contract/ runtime/ webhook/signature.ts | node:crypto node:zlib
otel/ | delivery/events.ts delivery/sender.ts log/write-counters.ts queue/queue.ts runtime/clock.ts runtime/timers.ts | node:diagnostics_channel node:http
testing/ | contract/index.ts runtime/ webhook/signature.ts | node:crypto node:events node:http node:net node:stream node:tls node:util node:zlib
cli/ | index.ts contract/index.ts queue/postgres.ts queue/sqlite.ts receiver/body-budget.ts receiver/index.ts receiver/node-handler.ts receiver/refusals.ts settings.ts runtime/clock.ts | node:buffer node:events node:fs node:http node:https node:net node:os node:path node:stream node:util
`;
const rows = TABLE.trim()
  .split('\n')
  .map((line) => line.split(' | ').map((cell) => cell.split(' ')));
const covers = (starts: string[] = [], path = '') => starts.some((start) => path.startsWith(start));
const rowOf = (path: string) => rows.find(([files]) => covers(files, path));

/** Imports as Biome formats them. A loader that gets no plain string loads a computed name. */
const IMPORT =
  /^ *(?:(?:import|export|\}).* from|import) '([^']+)'|\b(?:import|require|createRequire|getBuiltinModule)\((?!\))(?:\s*'([^']+)')?/gm;

function isAllowed(path: string, name: string): boolean {
  const [files, ours, others = []] = rowOf(path) ?? [];
  if (!name.startsWith('.')) return others.some((other) => `${name}/`.startsWith(`${other}/`));
  const target = posix.join(posix.dirname(path), name);
  return covers(ours, target) || [files, rows[0]?.[0]].includes(rowOf(target)?.[0]);
}

const refusedIn = (path: string, text: string): string[] =>
  [...text.matchAll(IMPORT)]
    .map((match) => match[1] ?? match[2] ?? 'a computed name')
    .filter((name) => !isAllowed(path, name))
    .map((name) => `${path} may not import ${name}`);

/** Files that the file at `start` imports, directly or not; its types only by statements that the linter judges. */
function reachableFrom(start: string): ReadonlySet<string> {
  const found = new Set<string>();
  const pending = [start];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    for (const [statement, from, called] of (sources.get(path) ?? '').matchAll(IMPORT)) {
      const name = from ?? called;
      if (!name?.startsWith('.') || statement.startsWith('import type')) continue;
      const target = posix.join(posix.dirname(path), name);
      if (found.has(target)) continue;
      found.add(target);
      pending.push(target);
    }
  }
  return found;
}

const sourcesWith = (pattern: RegExp): string[] =>
  [...sources].filter(([, text]) => pattern.test(text)).map(([path]) => path);

describe('the sources', () => {
  it('import only what the table allows', () => {
    // The worker of the SQLite queue loads the peer that the main thread has resolved.
    const peer = 'queue/sqlite/worker/sqlite-library.ts may not import a computed name';
    expect([...sources].flatMap(([path, text]) => refusedIn(path, text))).toEqual([peer]);
  });

  it('each have a row, and each row has a source', () => {
    const paths = [...sources.keys()];
    expect(paths.filter((path) => rowOf(path) === undefined)).toEqual([]);
    expect(rows.filter((row) => !paths.some((path) => rowOf(path) === row))).toEqual([]);
  });

  it('load our own files by a call in three places, without a cycle', () => {
    // The linter finds a cycle only among import statements.
    const loaders = [
      'capture/adapters/nest.ts',
      'cli/command-line.ts',
      'webhook/http/transport.ts',
    ];
    expect(sourcesWith(/\bimport\(\s*'\./)).toEqual(loaders);
    for (const path of loaders) expect(reachableFrom(path)).not.toContain(path);
  });

  it('have an index.ts only where package.json publishes one', () => {
    const published = JSON.stringify(manifest.exports).replaceAll('.js"', '.ts"');
    const found = [...sources.keys()].filter((path) => posix.basename(path) === 'index.ts');
    expect(found.filter((path) => !published.includes(`"./dist/${path}"`))).toEqual([]);
  });

  // These four are beyond the linter. It refuses the other clocks, chance, timers and the console.
  it.each([
    ['read the time of day', /\bnew Date\(\)/, 'const at = new Date();'],
    ['read from globalThis', /\bglobalThis\./, 'globalThis.Date.now()'],
    ['print', /\bprocess\.(?:std(?:out|err)\.write|emitWarning)\b/, 'process.stdout.write(line)'],
    ['keep a variable at module level', /^(?:export )?(?:let|var)\b/m, 'let count = 0;'],
  ])('never %s', (_, pattern, example) => {
    expect(example).toMatch(pattern);
    expect(sourcesWith(pattern)).toEqual([]);
  });

  it('create ids in runtime/id.ts only', () => {
    expect(sourcesWith(/^\S.*= createIdSource\(/m)).toEqual(['runtime/id.ts']);
  });
});

describe('the check of imports', () => {
  it.each([
    ['a type', 'webhook/a.ts', "import type {\n  Pool,\n} from 'pg';", 'pg'],
    ['a computed name', 'webhook/a.ts', 'const b = await import(name);', 'a computed name'],
  ])('refuses %s', (_, path, text, name) => {
    expect(refusedIn(path, text)).toEqual([`${path} may not import ${name}`]);
  });
});
