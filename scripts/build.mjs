/**
 * Builds the package: dist/ (JavaScript, types, maps, CommonJS shims) and schemas/ (JSON Schema).
 *
 * Everything is made beside its final place and moved there at the end, so that a failed or
 * running build never leaves a half-written dist/ to a program that reads it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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

const remove = (path) => rmSync(path, { recursive: true, force: true });

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

try {
  compile();
  writeShims();
  await writeSchemas();
  moveIntoPlace(dist, 'dist');
  moveIntoPlace(schemas, 'schemas');
} catch (error) {
  // tsc has told its errors itself; a stack trace of this script would only bury them.
  if (error.status === undefined) throw error;
  process.exitCode = 1;
} finally {
  for (const path of [dist, schemas, retired]) remove(path);
}
