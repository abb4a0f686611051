/**
 * Runs the simulation against copies of the sources, each with one planted bug and with the one invariant
 * that is to see it: an invariant that can never fail is found out.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mutation } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const AT_A_TIME = 2;

/** Whether every one is found within its seeds. */
export async function runPlanted(say: (line: string) => void): Promise<boolean> {
  const waiting = [...MUTATIONS];
  let missed = 0;
  const work = async (): Promise<void> => {
    for (let mutation = waiting.shift(); mutation !== undefined; mutation = waiting.shift()) {
      const { seed, told } = await find(mutation);
      if (seed === undefined) missed += 1;
      const within = `${seed ?? 'NOT FOUND'} of ${mutation.withinSeeds}`;
      say(`${within.padStart(16)}  ${mutation.name}: ${told}`);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  say(`${MUTATIONS.length - missed} of ${MUTATIONS.length} planted bugs were found`);
  return missed === 0;
}

interface Found {
  readonly seed: number | undefined;
  readonly told: string;
}

async function find(mutation: Mutation): Promise<Found> {
  const folder = mkdtempSync(join(tmpdir(), 'planted-'));
  try {
    plant(folder, mutation);
    const output = await run(folder, mutation);
    const [, seed, told] = /^FAILED seed (\d+): ([^:]*)/m.exec(output) ?? [];
    return seed !== undefined && told !== undefined
      ? { seed: Number(seed), told }
      : { seed: undefined, told: output.trim().split('\n').slice(-8).join(' | ') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function plant(folder: string, { file, from, to }: Mutation): void {
  for (const name of ['src', 'test/simulation', 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const path = join(folder, 'src', file);
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${file} has not exactly one ${from}`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
}

/** What it wrote. */
function run(folder: string, { by, withinSeeds }: Mutation): Promise<string> {
  const main = join(folder, 'test/simulation/main.ts');
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', main, '--first', '--only', by, '--seeds', String(withinSeeds)],
    { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
  );
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
