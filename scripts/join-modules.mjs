/**
 * Joins what an entry imports of ours into a few files, and leaves what is of others where it is,
 * but for `TAKEN_IN`: Node takes about a millisecond to find, read and link one module, whatever is in it.
 *
 * Each module is in exactly one file, so that all entries share classes and state. Names stay as
 * they are written, and the maps lead to `src`; of others the maps have the text itself.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { build } from 'esbuild';
import { filesThatGoTogether } from './files-that-go-together.mjs';

/** Measured by itself (`npm run bench`); nobody else can reach it. */
const INTERNAL_ENTRIES = ['./dist/log/writer.js'];

/**
 * Dependencies whose code is joined, too: of twenty modules of uuid one function is used, and Node
 * reads a CommonJS module such as ipaddr.js twice when a module imports it. They stay in the
 * manifest, so that whoever looks for advisories finds them.
 */
const TAKEN_IN = ['ipaddr.js', 'uuid'];

const NOTICES = 'joined/THIRD-PARTY.md';

const sourceOf = (path) => path.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts');

/** Sources of the entries that a manifest names: what is exported, and programs. */
function entriesOf({ exports, bin }) {
  const exported = Object.values(exports).flatMap((target) => target.default ?? []);
  return [...exported, ...Object.values(bin), ...INTERNAL_ENTRIES].map(sourceOf);
}

const outside = ({ dependencies, peerDependencies }) =>
  Object.keys({ ...dependencies, ...peerDependencies })
    .filter((name) => !TAKEN_IN.includes(name))
    .flatMap((name) => [name, `${name}/*`]);

/** Their licenses ask for that. */
function notices(root, { dependencies }) {
  const parts = TAKEN_IN.map((name) => {
    const folder = join(root, 'node_modules', name);
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    // A range would tell an audit of versions that are not what runs.
    if (dependencies[name] !== version) {
      throw new Error(
        `${name} ${version} is taken in, but package.json says ${dependencies[name]}`,
      );
    }
    const license = ['LICENSE', 'LICENSE.md'].map((file) => join(folder, file)).find(existsSync);
    return `## ${name} ${version}\n\n${readFileSync(license, 'utf8').trim()}\n`;
  });
  return `# What the files beside this one have of others\n\n${parts.join('\n')}`;
}

/**
 * Imports for their effects alone: of ours no module has any, so they only load what nobody asked
 * for, and bundlers warn of them. The lines stay, for the maps.
 */
const BARE_IMPORT = /^import "\.{1,2}\/[^"]+";$/gm;

/**
 * A class that names itself in its own body is given another name by esbuild, which uncaught errors
 * and inspection would show; the option that keeps names costs a call for each function at load.
 */
const RENAMED = /= class (_\w+)/g;

function refuseRenamed(files) {
  const renamed = files.flatMap(({ text }) => [...text.matchAll(RENAMED)].map(([, name]) => name));
  if (renamed.length === 0) return;
  throw new Error(`name themselves in their own bodies: ${renamed.join(', ')}; see RENAMED`);
}

/** The package has our own sources as files. Those of others may lie elsewhere, or nowhere. */
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

export async function joinModules(root, outdir, groups) {
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
    external: outside(manifest),
    plugins: [filesThatGoTogether(root, groups)],
    // Or maps would name where a linked folder of packages really is.
    preserveSymlinks: true,
    // As deep as the folders of entries: see src/cli/package-file.ts.
    chunkNames: 'joined/[name]-[hash]',
    sourcemap: true,
    logLevel: 'warning',
    // What goes together is imported for nothing else.
    logOverride: { 'ignored-bare-import': 'silent' },
    write: false,
  });
  refuseRenamed(outputFiles.filter(({ path }) => path.endsWith('.js')));
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
