import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { manifest, root } from '../helpers/package-files.ts';
import { runProgram } from '../helpers/run-program.ts';

const fixture = join(root, 'test/fixtures/import-traces.mjs');
const folder = mkdtempSync(join(tmpdir(), 'traces-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** zod keeps its settings and its registry there, so that several copies of zod share them. */
const GLOBALS_OF_ZOD = ['__zod_globalConfig', '__zod_globalRegistry'];
/** The entries that need no schema. */
const WITHOUT_ZOD = ['./queue', './queue/memory'];

const NOTHING = {
  changedGlobals: GLOBALS_OF_ZOD,
  addedListeners: [],
  addedResources: [],
  undiciFiles: 0,
  workersStarted: 0,
  isIdle: true,
};

/** What importing a file leaves behind, told by a process of its own. */
async function tracesOf(file: string): Promise<unknown> {
  const { exitCode, stdout, stderr } = await runProgram([fixture, file], { cwd: root });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

describe.concurrent('importing the built package', () => {
  const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
    typeof target === 'string' ? [] : [[subpath, target.default] as const],
  );

  it.each(entries)('%s leaves no trace in the process but those of zod', async (subpath, file) => {
    const changedGlobals = WITHOUT_ZOD.includes(subpath) ? [] : GLOBALS_OF_ZOD;
    expect(await tracesOf(join(root, file))).toEqual({ ...NOTHING, changedGlobals });
  });
});

describe.concurrent('the search for traces', () => {
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
    ['a timer', 'setTimeout(() => {}, 2500);', { addedResources: ['Timeout'], isIdle: false }],
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
  ])('sees %s', async (what, source, traces) => {
    const file = join(folder, `${what.replaceAll(' ', '-')}.mjs`);
    writeFileSync(file, source);
    expect(await tracesOf(file)).toMatchObject(traces);
  });
});
