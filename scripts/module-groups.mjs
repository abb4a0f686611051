/**
 * Groups of modules that are bundled into one file. esbuild creates a file for each set of modules that the same
 * entries share, so that no entry loads unused code. But loading one more file takes longer than reading a few
 * unused kilobytes.
 *
 * A group must be small compared with the entries that load it, or be needed as a whole. It must not add a
 * dependency to an entry that does without, or a module of Node that is not loaded anyway (`node:util` is).
 */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const GROUPS = [
  [
    'contract/frozen',
    'errors',
    'lazy-value',
    'option-rules',
    'own-properties',
    'queue/message-classes',
    'queue/stored-values',
    'runtime/deferred',
    'runtime/host-calls',
    'runtime/heap',
    'runtime/optional-import',
    'runtime/tracers',
  ],
  [
    'runtime/async-context',
    'runtime/bounded-map',
    'runtime/clock',
    'runtime/diagnostics',
    'runtime/on-abort',
    'runtime/real-timers',
    'runtime/timers',
    'runtime/untraced',
    'runtime/yield-to-event-loop',
  ],
  ['incident/incident-store', 'runtime/id', 'webhook/signature'],
  [
    'address/classify',
    'address/metadata-services',
    'address/normalise',
    'address/parse',
    'capture/enrichment/describe-address',
    'webhook/http/ssrf-guard',
  ],
  ['capture/request/clean-text', 'capture/request/request-scope'],
  ['contract/contract', 'contract/index'],
];

const NAMESPACE = 'module-group';

/**
 * Returns an esbuild plugin. An import of one module of a group from outside becomes an import of the whole
 * group, so that the same entries share it. Imports within a group stay, and so does their order.
 */
export function moduleGroups(root, groups = GROUPS) {
  const pathOf = (name) => join(root, 'src', `${name}.ts`);
  const groupOf = new Map(
    groups.map((names) => names.map(pathOf)).flatMap((paths) => paths.map((path) => [path, paths])),
  );
  const missing = [...groupOf.keys()].filter((path) => !existsSync(path));
  if (missing.length > 0) throw new Error(`missing modules: ${missing.join(', ')}`);

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
  return { name: 'module groups', setup };
}
