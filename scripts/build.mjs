/**
 * Builds the package: dist/ (JavaScript, types, maps, CommonJS shims), schemas/ (JSON Schema, OpenAPI, AsyncAPI) and
 * samples/ (a payload of every kind). Also modules/, which is not published: one module per source,
 * for our programs that import parts of the package (docs, benchmarks).
 * Does nothing if input and output have not changed since the last build.
 *
 * Builds into temporary folders and moves them into place at the end, so that no program reads a
 * half-written dist/.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { apiDocuments } from './api-documents.mjs';
import { bundlePackage } from './bundle-package.mjs';
import { commonJsShims } from './commonjs-shim.mjs';
import { jsonSchemas } from './json-schemas.mjs';
import { sampleFiles } from './sample-files/sample-files.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = join(root, 'node_modules/typescript/bin/tsc');

// Siblings of the final folders: source maps hold relative paths, so the depth must be the same.
const staging = (name) => join(root, `${name}-${process.pid}.tmp`);
const dist = staging('dist');
const modules = staging('modules');
const schemas = staging('schemas');
const samples = staging('samples');
const retired = staging('retired');

const INPUT = [
  'src',
  'package.json',
  'package-lock.json',
  // The installed versions: they may differ from the lock file.
  'node_modules/.package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/api-documents.mjs',
  'scripts/build.mjs',
  'scripts/commonjs-shim.mjs',
  'scripts/module-groups.mjs',
  'scripts/bundle-package.mjs',
  'scripts/sample-files',
].map((name) => join(root, name));

const stamp = join(root, 'node_modules/.cache/security-event-delivery-build');

const remove = (path) => rmSync(path, { recursive: true, force: true });

function filesOf(path) {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

/** The built folders by final name. */
const BUILT = { dist, modules, schemas, samples };

/** Hashes file names and contents. A missing file changes the hash. */
function digestOf(folders) {
  const hash = createHash('sha256');
  for (const folder of folders) {
    for (const file of filesOf(folder)) {
      hash.update(`\0${file.slice(folder.length)}\0`);
      if (existsSync(file)) hash.update(readFileSync(file));
    }
  }
  return hash.digest('hex');
}

function isUpToDate(input) {
  const built = digestOf(Object.keys(BUILT).map((name) => join(root, name)));
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === `${input} ${built}`;
}

function compile() {
  const project = join(root, 'tsconfig.build.json');
  // Several checkers would each check the libraries' types, which `npm run types` already does.
  const quick = ['--checkers', '1', '--skipLibCheck'];
  const folders = ['--outDir', modules, '--declarationDir', dist];
  execFileSync(process.execPath, [tsc, '-p', project, ...folders, ...quick], {
    cwd: root,
    stdio: 'inherit',
  });
}

const readManifest = () => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

function writeShims() {
  const manifest = readManifest();
  for (const { path, text } of commonJsShims(manifest.exports)) {
    writeFileSync(join(dist, path.replace(/^\.\/dist\//, '')), text);
  }
}

const load = (file) => import(pathToFileURL(join(modules, file)).href);

function write(folder, file, text) {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

async function writeSchemas() {
  const files = [...jsonSchemas(await load('contract/index.js'))];
  for (const { file, schema } of [...files, ...apiDocuments(files, readManifest().version)]) {
    write(schemas, file, `${JSON.stringify(schema, null, 2)}\n`);
  }
}

async function writeSamples() {
  const { createLogWriter } = await load('log/writer.js');
  const { PLATFORMS } = await load('log/platform-presets.js');
  const files = sampleFiles({
    contract: await load('contract/index.js'),
    kit: await load('testing/index.js'),
    createLogWriter,
    // `auto` chooses one of the others at run time.
    platforms: PLATFORMS.filter((name) => name !== 'auto'),
  });
  for (const { file, text } of files) write(samples, file, text);
}

/** Renames twice instead of removing and copying: the final folder is missing only for an instant. */
function moveIntoPlace(built, name) {
  const final = join(root, name);
  remove(retired);
  try {
    renameSync(final, retired);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  renameSync(built, final);
  remove(retired);
}

async function build(input) {
  compile();
  await bundlePackage(root, dist);
  writeShims();
  await writeSchemas();
  await writeSamples();
  // Hashed before the move, because a concurrent build may replace the final folders.
  const built = digestOf(Object.values(BUILT));
  for (const [name, path] of Object.entries(BUILT)) moveIntoPlace(path, name);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, `${input} ${built}`);
}

// Hashed before the compiler reads the sources, so that a change during the build causes the next build.
const input = digestOf(INPUT);
try {
  if (!isUpToDate(input)) await build(input);
} catch (error) {
  // tsc has printed its errors. A stack trace of this script would only hide them.
  if (error.status === undefined) throw error;
  process.exitCode = 1;
} finally {
  for (const path of [...Object.values(BUILT), retired]) remove(path);
}
