import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { manifest, root } from '../helpers/package-files.ts';

const fixture = join(root, 'test/fixtures/import-traces.mjs');
const folder = mkdtempSync(join(tmpdir(), 'traces-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** zod keeps its settings and its registry there, so that several copies of zod share them. */
const GLOBALS_OF_ZOD = ['__zod_globalConfig', '__zod_globalRegistry'];

const NOTHING = {
  changedGlobals: GLOBALS_OF_ZOD,
  addedListeners: [],
  addedResources: [],
  undiciFiles: 0,
  workersStarted: 0,
  isIdle: true,
};

/** What importing a file leaves behind, told by a process of its own. */
function tracesOf(file: string): unknown {
  const { status, stdout, stderr } = spawnSync(process.execPath, [fixture, file], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout);
}

describe('importing the built package', () => {
  const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
    typeof target === 'string' ? [] : [[subpath, target.default] as const],
  );

  it.each(entries)('%s leaves no trace in the process but those of zod', (_, file) => {
    expect(tracesOf(join(root, file))).toEqual(NOTHING);
  });
});

describe('the search for traces', () => {
  it.each([
    ['nothing', '', { ...NOTHING, changedGlobals: [] }],
    ['a global', 'globalThis.left = 1;', { changedGlobals: ['left'] }],
    ['a changed global', 'globalThis.fetch = () => {};', { changedGlobals: ['fetch'] }],
    [
      'a global symbol',
      "globalThis[Symbol.for('left.behind')] = 1;",
      { changedGlobals: ['Symbol(left.behind)'] },
    ],
    ['a listener', "process.on('left', () => {});", { addedListeners: ['process left 1'] }],
    ['a timer', 'setTimeout(() => {}, 1500);', { addedResources: ['Timeout'], isIdle: false }],
    [
      'a worker',
      "import { Worker } from 'node:worker_threads'; new Worker('', { eval: true });",
      { workersStarted: 1 },
    ],
    [
      'undici',
      `import ${JSON.stringify(join(root, 'node_modules/undici/lib/core/symbols.js'))};`,
      { undiciFiles: 1 },
    ],
  ])('sees %s', (_, source, traces) => {
    const file = join(folder, 'left.mjs');
    writeFileSync(file, source);
    expect(tracesOf(file)).toMatchObject(traces);
  });
});
