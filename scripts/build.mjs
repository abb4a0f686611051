/**
 * Builds the package: dist/ (JavaScript, types, maps, CommonJS shims) and schemas/ (JSON Schema).
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
import { commonJsShims } from './commonjs-shim.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = join(root, 'node_modules/typescript/bin/tsc');

// Siblings of the final folders: source maps hold relative paths, so the depth must be the same.
const staging = (name) => join(root, `${name}-${process.pid}.tmp`);
const dist = staging('dist');
const schemas = staging('schemas');
const retired = staging('retired');

const INPUT = [
  'src',
  'package.json',
  'package-lock.json',
  // What is installed, whatever the lock file says.
  'node_modules/.package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/build.mjs',
  'scripts/commonjs-shim.mjs',
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

/** Names and contents; a file that is not there counts as well. */
function digestOf(folders) {
  const hash = createHash('sha256').update(process.version);
  for (const folder of folders) {
    for (const file of filesOf(folder)) {
      hash.update(`\0${file.slice(folder.length)}\0`);
      if (existsSync(file)) hash.update(readFileSync(file));
    }
  }
  return hash.digest('hex');
}

function isUpToDate(input) {
  const built = digestOf([join(root, 'dist'), join(root, 'schemas')]);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === `${input} ${built}`;
}

function compile() {
  const project = join(root, 'tsconfig.build.json');
  // Several checkers on few cores would each check the libraries' types, and `npm run types` does.
  const quick = ['--checkers', '1', '--skipLibCheck'];
  execFileSync(process.execPath, [tsc, '-p', project, '--outDir', dist, ...quick], {
    cwd: root,
    stdio: 'inherit',
  });
}

function writeShims() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const { path, text } of commonJsShims(manifest.exports)) {
    writeFileSync(join(dist, path.replace(/^\.\/dist\//, '')), text);
  }
}

async function writeSchemas() {
  mkdirSync(schemas);
  const module = await import(pathToFileURL(join(dist, 'contract/json-schema.js')).href);
  for (const { file, schema } of module.jsonSchemas()) {
    const path = join(schemas, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(schema, null, 2)}\n`);
  }
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
  writeShims();
  await writeSchemas();
  // Of what this build made, before another one can put its own in the final place.
  const built = digestOf([dist, schemas]);
  moveIntoPlace(dist, 'dist');
  moveIntoPlace(schemas, 'schemas');
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
  for (const path of [dist, schemas, retired]) remove(path);
}
