/**
 * Modules that come in one file. esbuild gives whatever the same entries share a file of its own, so that
 * no entry loads what it does not use; but to load one file more takes longer than to read a
 * few kilobytes that are never called.
 *
 * A group is small beside what any entry loads that needs a part of it, or is needed as a whole. None brings
 * a dependency to an entry that has none, nor a module of Node to one that runs without.
 */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const GROUPS = [
  [
    'contract/frozen',
    'errors',
    'once',
    'option-rules',
    'own-properties',
    'queue/message-classes',
    'runtime/deferred',
    'runtime/ignore-rejection',
    'runtime/yield-to-event-loop',
    'runtime/heap',
    'runtime/optional-import',
    'runtime/tracers',
  ],
  ['runtime/async-context', 'runtime/clock', 'runtime/on-abort', 'runtime/untraced'],
  ['incident/incident-store', 'runtime/id', 'webhook/signature'],
  ['address/classify', 'address/normalise', 'address/parse', 'capture/enrichment/describe-address'],
  ['capture/request/clean-text', 'capture/request/request-scope', 'capture/request/request-state'],
  ['contract/contract', 'contract/index'],
];

const NAMESPACE = 'together';

/**
 * Who imports a module of a group from outside imports all of it, so that the same entries share all of it.
 * Within a group nothing changes: its modules run in the order of their own imports.
 */
export function filesThatGoTogether(root, groups = GROUPS) {
  const pathOf = (name) => join(root, 'src', `${name}.ts`);
  const groupOf = new Map(
    groups.map((names) => names.map(pathOf)).flatMap((paths) => paths.map((path) => [path, paths])),
  );
  const missing = [...groupOf.keys()].filter((path) => !existsSync(path));
  if (missing.length > 0) throw new Error(`not there: ${missing.join(', ')}`);

  const isImportedFromOutside = (path, importer) =>
    groupOf.has(path) && groupOf.get(path) !== groupOf.get(importer);

  const setup = (build) => {
    build.onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ path, resolveDir, importer }) => {
      const module = resolve(resolveDir, path);
      if (!isImportedFromOutside(module, importer)) return undefined;
      return { path: relative(root, module), namespace: NAMESPACE };
    });
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => {
      const module = join(root, path);
      const imports = groupOf.get(module).map((one) => `import ${JSON.stringify(one)};\n`);
      const contents = `${imports.join('')}export * from ${JSON.stringify(module)};\n`;
      return { contents, resolveDir: root };
    });
  };
  return { name: 'files that go together', setup };
}
