/**
 * Runs the simulation on bundles of the sources, each with one planted bug, and checks only the invariant
 * that must find it. This detects invariants that can never fail.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import type { Mutation } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Returns whether each bug is found within its seeds. */
export async function runPlantedBugs(print: (line: string) => void): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'planted-'));
  const waiting = [...MUTATIONS.entries()];
  let missed = 0;
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, mutation] = next;
      const { seed, invariant } = await find(mutation, join(folder, `${index}.mjs`));
      if (seed === undefined) missed += 1;
      const within = `${seed ?? 'NOT FOUND'} of ${mutation.withinSeeds}`;
      print(`${within.padStart(16)}  ${mutation.name}: ${invariant}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, work));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  print(`${MUTATIONS.length - missed} of ${MUTATIONS.length} planted bugs were found`);
  return missed === 0;
}

interface Found {
  readonly seed: number | undefined;
  readonly invariant: string;
}

async function find(mutation: Mutation, program: string): Promise<Found> {
  await bundle(program, mutation);
  const output = await run(program, mutation);
  const [, seed, invariant] = /^FAILED seed (\d+): ([^:]*)/m.exec(output) ?? [];
  return seed !== undefined && invariant !== undefined
    ? { seed: Number(seed), invariant }
    : { seed: undefined, invariant: output.trim().split('\n').slice(-8).join(' | ') };
}

/** Replaces the text of one source file. */
const planting = ({ file, from, to }: Mutation): Plugin => ({
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
async function bundle(program: string, mutation: Mutation): Promise<void> {
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
    plugins: [planting(mutation)],
  });
}

/** Returns the program's output. */
function run(program: string, { invariant, withinSeeds }: Mutation): Promise<string> {
  const args = [program, '--first', '--only', invariant, '--seeds', String(withinSeeds)];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve(output));
  });
}
