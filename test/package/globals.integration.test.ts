import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../helpers/child-programs.ts';
import { importableEntries, root } from '../helpers/package-files.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';

const fixture = join(root, 'test/fixtures/import-traces.mjs');
const folder = temporaryFolder(afterAll);

/** zod shares its settings and its registry between copies of itself. */
const GLOBALS_OF_ZOD = ['__zod_globalConfig', '__zod_globalRegistry'];
/** Entries that need no schema. */
const WITHOUT_ZOD = ['./otel', './queue', './queue/memory', './queue/postgres', './queue/sqlite'];

const NOTHING = {
  changedGlobals: [] as readonly string[],
  addedListeners: [],
  addedResources: [],
  undiciFiles: 0,
  workersStarted: 0,
};

interface Traces {
  /** In the order of the files. */
  readonly traces: readonly unknown[];
  /** Whether the process ended by itself at once. */
  readonly isIdle: boolean;
}

/** Returns the traces of importing files in a separate process. */
async function tracesOf(files: readonly string[], env = {}): Promise<Traces> {
  const { exitCode, stdout, stderr } = await runProgram([fixture, ...files], { cwd: root, env });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout) as Traces;
}

const needsZod = ({ subpath }: { readonly subpath: string }): boolean =>
  !WITHOUT_ZOD.includes(subpath);

describe('importing the built package', () => {
  // The first entry with zod leaves its traces, so entries without zod come before.
  const without = importableEntries.filter((entry) => !needsZod(entry));
  const entries = [...without, ...importableEntries.filter(needsZod)];
  let found: Traces;

  beforeAll(async () => {
    found = await tracesOf(entries.map((entry) => join(root, entry.default)));
  });

  it.each(entries.map(({ subpath }, index) => [subpath, index] as const))(
    '%s leaves no trace in the process except those of zod',
    (_subpath, index) => {
      const changedGlobals = index === without.length ? GLOBALS_OF_ZOD : [];
      expect(found.traces[index]).toEqual({ ...NOTHING, changedGlobals });
    },
  );

  it('keeps no process alive', () => {
    expect(found.isIdle).toBe(true);
  });
});

it('the search for traces finds traces', async () => {
  const worker = "import { Worker } from 'node:worker_threads'; new Worker('', { eval: true });";
  const left = [
    { source: '', traces: NOTHING },
    { source: 'globalThis.left = 1;', traces: { ...NOTHING, changedGlobals: ['left'] } },
    {
      source: "process.on('left', () => {});",
      traces: { ...NOTHING, addedListeners: ['process left 1'] },
    },
    { source: 'setTimeout(() => {}, 1000);', traces: { ...NOTHING, addedResources: ['Timeout'] } },
    // Last, because it creates more resources later.
    { source: worker, traces: { workersStarted: 1 } },
  ];
  const files = left.map(({ source }, index) => {
    const file = join(folder, `${index}.mjs`);
    writeFileSync(file, source);
    return file;
  });
  const { traces } = await tracesOf(files, { IDLE_WITHIN_MS: '100' });
  expect(traces).toMatchObject(left.map((each) => each.traces));
});

/** Makes `new Function` and `eval` throw, as some hosts do. */
const NO_CODE_GENERATION = '--disallow-code-generation-from-strings';

it('events are reported when code generation is forbidden', async () => {
  const program = join(folder, 'reports.mjs');
  const index = pathToFileURL(join(root, 'dist/index.js')).href;
  writeFileSync(
    program,
    `import { createReporter } from ${JSON.stringify(index)};
    const service = { svc_id: 'shop-1', name: 'shop', env: 'test' };
    const reporter = createReporter({ service });
    reporter.attack({ ruleset: 'crs' });
    reporter.attack({ ruleset: 1 });
    console.log(JSON.stringify((await reporter.stats()).rejected));`,
  );
  const run = await runProgram([NO_CODE_GENERATION, program], { cwd: root });
  expect({ ...run, stdout: run.stdout.split('\n') }).toEqual({
    exitCode: 0,
    stderr: '',
    stdout: [expect.stringContaining('"payload":{"ruleset":"crs"}'), '{"log":1,"webhook":0}', ''],
  });
});
