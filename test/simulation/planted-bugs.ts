/**
 * Runs the simulation on bundles of the sources, each with one bug of planted-bugs.txt, and checks only the
 * invariant that must find it. This detects invariants that can never fail.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A planted bug: one replacement in the sources. */
export interface PlantedBug {
  readonly name: string;
  /** The invariant that must find it while no other is checked. */
  readonly invariant: string;
  /** Maximum number of seeds until it is found. */
  readonly withinSeeds: number;
  /** Path below src/. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const HEAD = /^(.+): (.+) within (\d+) seeds, in (.+)$/;

/** Reads the bugs: each has a head, lines to remove after `-`, and lines to insert after `+`. */
export function plantedBugs(): PlantedBug[] {
  const text = readFileSync(join(ROOT, 'test/simulation/planted-bugs.txt'), 'utf8');
  return text
    .trimEnd()
    .split('\n\n')
    .map((bug) => {
      const [head = '', ...lines] = bug.split('\n');
      const [, name = '', invariant = '', withinSeeds, file = ''] = HEAD.exec(head) ?? [];
      const textAfter = (sign: string): string =>
        lines
          .filter((line) => line.startsWith(sign))
          .map((line) => line.slice(1))
          .join('\n');
      const change = { from: textAfter('-'), to: textAfter('+') };
      return { name, invariant, withinSeeds: Number(withinSeeds), file, ...change };
    });
}

/** Returns whether each bug is found within its seeds. */
export async function runPlantedBugs(print: (line: string) => void): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'planted-'));
  const bugs = plantedBugs();
  const waiting = [...bugs.entries()];
  let missed = 0;
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, bug] = next;
      const { seed, invariant } = await find(bug, join(folder, `${index}.mjs`));
      if (seed === undefined) missed += 1;
      const within = `${seed ?? 'NOT FOUND'} of ${bug.withinSeeds}`;
      print(`${within.padStart(16)}  ${bug.name}: ${invariant}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, work));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  print(`${bugs.length - missed} of ${bugs.length} planted bugs were found`);
  return missed === 0;
}

interface Found {
  readonly seed: number | undefined;
  readonly invariant: string;
}

async function find(bug: PlantedBug, program: string): Promise<Found> {
  await bundle(program, bug);
  const output = await run(program, bug);
  const [, seed, invariant] = /^FAILED seed (\d+): ([^:]*)/m.exec(output) ?? [];
  return seed !== undefined && invariant !== undefined
    ? { seed: Number(seed), invariant }
    : { seed: undefined, invariant: output.trim().split('\n').slice(-8).join(' | ') };
}

/** Replaces the text of one source file. */
const planting = ({ file, from, to }: PlantedBug): Plugin => ({
  name: 'planted bug',
  setup(bundler) {
    bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (path !== join(ROOT, 'src', file)) return undefined;
      const text = readFileSync(path, 'utf8');
      if (text.split(from).length !== 2) throw new Error(`${file} has not exactly one ${from}`);
      return { contents: text.replace(from, () => to), loader: 'ts' };
    });
  },
});

/** A bundle starts in a fifth of the time of the separate sources. */
async function bundle(program: string, bug: PlantedBug): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['test/simulation/main.ts'],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
    // Bundled CommonJS packages call `require`.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    plugins: [planting(bug)],
  });
}

/** Returns the program's output. It fails, because it finds the bug. */
function run(program: string, { invariant, withinSeeds }: PlantedBug): Promise<string> {
  const args = [program, '--first', '--only', invariant, '--seeds', String(withinSeeds)];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: ROOT }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
