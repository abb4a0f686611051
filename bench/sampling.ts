/** Takes samples: each in a fresh process, those of the two sides in turn. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Comparison, Side } from './comparison.ts';

export interface Sample {
  /** Milliseconds, or what the work told in the unit of its row. */
  readonly figure: number;
  /** Of all threads of the process. */
  readonly cpuMs: number;
  /** How much resident memory grew meanwhile. */
  readonly rssBytes: number;
}

export interface Samples {
  readonly ours: readonly Sample[];
  readonly rival: readonly Sample[];
}

export interface Rounds {
  /** Discarded: they bring files into the caches of the disk. */
  readonly warmUps: number;
  readonly runs: number;
}

const sampleProgram = fileURLToPath(new URL('./sample.mjs', import.meta.url));
const run = promisify(execFile);

/** ABAB…: a machine that becomes slower meanwhile becomes slower for both. */
export async function interleave<T>(
  first: () => Promise<T>,
  second: () => Promise<T>,
  { warmUps, runs }: Rounds,
): Promise<[T[], T[]]> {
  const samples: [T[], T[]] = [[], []];
  for (let round = -warmUps; round < runs; round += 1) {
    const pair = [await first(), await second()] as const;
    if (round < 0) continue;
    samples[0].push(pair[0]);
    samples[1].push(pair[1]);
  }
  return samples;
}

/** Rejects with what a process printed where its work failed or was not done. */
export async function takeSamples(comparison: Comparison, rounds: Rounds): Promise<Samples> {
  const sample = (side: Side) => () => takeSample(comparison, side);
  const [ours, rival] = await interleave(sample(comparison.ours), sample(comparison.rival), rounds);
  return { ours, rival };
}

async function takeSample(
  { subject, operations: usual }: Pick<Comparison, 'subject' | 'operations'>,
  { side, operations = usual }: Side,
): Promise<Sample> {
  // Plain node: a loader that transforms would be measured, too, and so would a host's options.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const parameters = ['--expose-gc', sampleProgram, subject.href, side, String(operations)];
  const { stdout } = await run(process.execPath, parameters, { env });
  const sample = JSON.parse(stdout) as Sample;
  // A figure that is none would be kept, and shown as a ratio.
  if (!Number.isFinite(sample.figure)) throw new Error(`${side} told no figure: ${stdout}`);
  return sample;
}
