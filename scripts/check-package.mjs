/**
 * Checks the packed package as a consumer's tools will see it: publint (manifest and files) and
 * attw (do types and JavaScript resolve alike in every module mode).
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

// A folder of its own: `attw --pack` writes beside the sources and removes what has the same name.
const folder = mkdtempSync(join(tmpdir(), 'check-package-'));

const ATTW = [
  // node10 knows no exports map; the oldest supported Node is 20.19.
  '--profile',
  'node16',
  '--ignore-rules',
  // `require` gives a .cjs file, its types are those of the ES module. That is what happens: the
  // shim's module.exports is the ES module's namespace itself, through Node's own require(esm), so
  // a second set of types would describe a second copy that does not exist.
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
