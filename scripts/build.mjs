/**
 * Builds the package: dist/ (JavaScript, types, maps, CommonJS shims), schemas/ (JSON Schema, OpenAPI, AsyncAPI) and
 * samples/ (a payload of every kind). Beside them modules/, which is not published: each source as
 * a module of its own, for programs of ours that look into the package (docs, benchmarks).
 * Where they are, byte for byte, what the last build made of the same input, nothing is done.
 *
 * Everything is made beside its final place and moved there at the end, so that a failed or
 * running build never leaves a half-written dist/ to a program that reads it.
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
import { commonJsShims } from './commonjs-shim.mjs';
import { joinModules } from './join-modules.mjs';
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
  // What is installed, whatever the lock file says.
  'node_modules/.package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/api-documents.mjs',
  'scripts/build.mjs',
  'scripts/commonjs-shim.mjs',
  'scripts/files-that-go-together.mjs',
  'scripts/join-modules.mjs',
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

/** What is built, each where it is moved to. */
const BUILT = { dist, modules, schemas, samples };

/** Names and contents; a file that is not there counts as well. */
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
  // Several checkers on few cores would each check the libraries' types, and `npm run types` does.
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
  const { jsonSchemas } = await load('contract/json-schema.js');
  const files = [...jsonSchemas()];
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
    // That is one of the others, by what runs in the process.
    platforms: PLATFORMS.filter((name) => name !== 'auto'),
  });
  for (const { file, text } of files) write(samples, file, text);
}

/** Two renames instead of a removal and a copy: the final folder is missing for an instant only. */
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
  await joinModules(root, dist);
  writeShims();
  await writeSchemas();
  await writeSamples();
  // Of what this build made, before another one can put its own in the final place.
  const built = digestOf(Object.values(BUILT));
  for (const [name, path] of Object.entries(BUILT)) moveIntoPlace(path, name);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, `${input} ${built}`);
}

// Before the compiler reads it: what changes meanwhile is built the next time.
const input = digestOf(INPUT);
try {
  if (!isUpToDate(input)) await build(input);
} catch (error) {
  // tsc has told its errors itself; a stack trace of this script would only bury them.
  if (error.status === undefined) throw error;
  process.exitCode = 1;
} finally {
  for (const path of [...Object.values(BUILT), retired]) remove(path);
}
