/**
 * Bundles the modules of each entry into a few files, because Node takes about a millisecond to find, read
 * and link a module of any size. Of other packages it bundles only those in `BUNDLED`.
 *
 * Each module is in exactly one file, so that all entries share classes and state. Names are not
 * minified. Source maps point to `src`; for other packages they contain the source.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { build } from 'esbuild';
import { moduleGroups } from './module-groups.mjs';

/** Not in the exports map. Only `npm run bench` imports it. */
const INTERNAL_ENTRIES = ['./dist/log/writer.js'];

/**
 * Bundled dependencies: only one function of uuid's twenty modules is used, and Node reads a CommonJS
 * module such as ipaddr.js twice when an ES module imports it. They stay in package.json, so that audits
 * find them.
 */
const BUNDLED = ['ipaddr.js', 'uuid'];

const NOTICES = 'bundled/THIRD-PARTY.md';

const sourceOf = (path) => path.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts');

/** Returns the source files of the exports and programs in a package.json. */
function entriesOf({ exports, bin }) {
  const exported = Object.values(exports).flatMap((target) => target.default ?? []);
  return [...exported, ...Object.values(bin), ...INTERNAL_ENTRIES].map(sourceOf);
}

const externalPackages = ({ dependencies, peerDependencies }) =>
  Object.keys({ ...dependencies, ...peerDependencies })
    .filter((name) => !BUNDLED.includes(name))
    .flatMap((name) => [name, `${name}/*`]);

/** Returns the licences of the bundled packages, which must be distributed with them. */
function notices(root, { dependencies }) {
  const parts = BUNDLED.map((name) => {
    const folder = join(root, 'node_modules', name);
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    // With a range, audits would check versions other than the bundled one.
    if (dependencies[name] !== version) {
      throw new Error(`${name} ${version} is bundled, but package.json says ${dependencies[name]}`);
    }
    const license = ['LICENSE', 'LICENSE.md'].map((file) => join(folder, file)).find(existsSync);
    return `## ${name} ${version}\n\n${readFileSync(license, 'utf8').trim()}\n`;
  });
  return `# Bundled packages and their licences\n\n${parts.join('\n')}`;
}

/**
 * Imports without names are useless, since no module of ours has side effects, and bundlers warn about
 * them. Their lines stay empty, so that source maps stay correct.
 */
const BARE_IMPORT = /^import "\.{1,2}\/[^"]+";$/gm;

/**
 * esbuild renames a class that refers to itself in its own body, and errors would show that name. Its
 * `keepNames` option costs a call per function at load.
 */
const RENAMED = /= class (_\w+)/g;

function rejectRenamed(files) {
  const renamed = files.flatMap(({ text }) => [...text.matchAll(RENAMED)].map(([, name]) => name));
  if (renamed.length === 0) return;
  throw new Error(`classes that refer to themselves: ${renamed.join(', ')}; see RENAMED`);
}

/** Removes our own sources from a source map: the package contains them as files. */
function mapOf(path, text, root) {
  const map = JSON.parse(text);
  const own = join(root, 'src', sep);
  const isOwn = (source) => join(dirname(path), source).startsWith(own);
  map.sourcesContent = map.sources.map((source, index) =>
    isOwn(source) ? null : map.sourcesContent[index],
  );
  if (map.sources.every(isOwn)) delete map.sourcesContent;
  return `${JSON.stringify(map)}\n`;
}

export async function bundlePackage(root, outdir, groups) {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entries = entriesOf(manifest);
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: entries,
    outbase: 'src',
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    external: externalPackages(manifest),
    plugins: [moduleGroups(root, groups)],
    // Otherwise source maps would contain the real path of a linked node_modules.
    preserveSymlinks: true,
    // As deep as the folders of the entries: src/cli finds files of the package by relative paths.
    chunkNames: 'bundled/[name]-[hash]',
    sourcemap: true,
    logLevel: 'warning',
    // Module groups import their modules without names.
    logOverride: { 'ignored-bare-import': 'silent' },
    write: false,
  });
  rejectRenamed(outputFiles.filter(({ path }) => path.endsWith('.js')));
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    const isMap = path.endsWith('.map');
    writeFileSync(path, isMap ? mapOf(path, text, root) : text.replace(BARE_IMPORT, ''));
  }
  writeFileSync(join(outdir, NOTICES), notices(root, manifest));
  const missing = entries.filter(
    (entry) => !existsSync(join(outdir, entry.slice('src/'.length).replace(/\.ts$/, '.js'))),
  );
  if (missing.length > 0) throw new Error(`not built: ${missing.join(', ')}`);
}
