/** Takes samples, each in a fresh process, alternating between the sides. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Comparison, Side } from './comparison.ts';

export interface Sample {
  /** Milliseconds, or the value that `run` returned, in the unit of its row. */
  readonly figure: number;
  /** Processor time of all threads of the process. */
  readonly cpuMs: number;
  /** Growth of resident memory during the work. */
  readonly rssBytes: number;
}

export interface Samples {
  readonly ours: readonly Sample[];
  readonly rival: readonly Sample[];
}

export interface Rounds {
  /** The first samples are discarded: they fill the disk caches. */
  readonly warmUps: number;
  readonly runs: number;
}

const sampleProgram = fileURLToPath(new URL('./sample.mjs', import.meta.url));
const run = promisify(execFile);

/** Alternates the sides, so that a machine that slows down affects both. */
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

/** Takes the samples of a row. Rejects with the output of a process that fails. */
export async function takeSamples(comparison: Comparison, rounds: Rounds): Promise<Samples> {
  const sample = (side: Side) => () => takeSample(comparison, side);
  const [ours, rival] = await interleave(sample(comparison.ours), sample(comparison.rival), rounds);
  return { ours, rival };
}

async function takeSample(
  { subject, operations: usual }: Pick<Comparison, 'subject' | 'operations'>,
  { side, operations = usual }: Side,
): Promise<Sample> {
  // Plain node, without loaders and NODE_OPTIONS, which would be measured, too.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const parameters = ['--expose-gc', sampleProgram, subject.href, side, String(operations)];
  const { stdout } = await run(process.execPath, parameters, { env });
  const sample = JSON.parse(stdout) as Sample;
  // NaN would be stored and shown as a ratio.
  if (!Number.isFinite(sample.figure)) throw new Error(`${side} printed no figure: ${stdout}`);
  return sample;
}
