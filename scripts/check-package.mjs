/**
 * Checks the packed package with a consumer's tools: publint (manifest and files) and attw (types and
 * JavaScript resolve alike in every module mode).
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

// A temporary folder: `attw --pack` writes into the current one and removes files with the same name.
const folder = mkdtempSync(join(tmpdir(), 'check-package-'));

const ATTW = [
  // node10 does not know exports maps. The oldest supported Node is 20.19.
  '--profile',
  'node16',
  '--ignore-rules',
  // `require` resolves to a .cjs file with the types of the ES module. That is correct: the shim's
  // module.exports is the namespace of the ES module itself, through Node's require(esm).
  'false-esm',
];

const run = (name, args) => {
  const bin = join(root, 'node_modules/.bin', name);
  const { status } = spawnSync(bin, args, { cwd: folder, stdio: 'inherit' });
  return status === 0;
};

try {
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const tarball = join(folder, readdirSync(folder)[0]);
  const results = [
    run('publint', ['run', tarball, '--strict']),
    run('attw', [tarball, '--no-emoji', ...ATTW]),
  ];
  if (results.includes(false)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
