/**
 * `npm run bench:growth -- [--only <axis>]… [--runs <n>]`: measures how cost grows, and stores the medians of each
 * axis in bench/growth.json as soon as it is measured.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { AXES, type Axis, type Metric, type Point } from './axes.ts';
import { keepGrowth, readGrowth, withAxis } from './growth-results.ts';
import { summarise } from './statistics.ts';
import { describeSurroundings } from './surroundings.ts';

const program = fileURLToPath(new URL('./subjects/growth.mjs', import.meta.url));
const run = promisify(execFile);

type Taken = Readonly<Record<Metric, number>>;

async function runSubject(...parameters: readonly string[]): Promise<string> {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const { stdout } = await run(process.execPath, [program, ...parameters], { env });
  return stdout;
}

/** Fills the backlog once for all samples of a point. */
async function withFolder<T>(
  { name }: Axis,
  size: number,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  if (name !== 'backlog') return await work('');
  const folder = mkdtempSync(join(tmpdir(), 'bench-growth-'));
  try {
    await runSubject('fill', String(size), folder);
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function medianOf(size: number, samples: readonly Taken[]): Point {
  const median = (metric: Metric): number =>
    summarise(samples.map((sample) => sample[metric])).median;
  return {
    size,
    messagesPerSecond: median('messagesPerSecond'),
    latencyMs: median('latencyMs'),
    peakMegabytes: median('peakMegabytes'),
  };
}

async function measurePoint(axis: Axis, size: number, runs: number): Promise<Point> {
  process.stderr.write(`${axis.name} ${size}\n`);
  return await withFolder(axis, size, async (folder) => {
    const samples: Taken[] = [];
    while (samples.length < runs) {
      samples.push(JSON.parse(await runSubject(axis.name, String(size), folder)) as Taken);
    }
    return medianOf(size, samples);
  });
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    runs: { type: 'string', default: '3' },
  },
});
const runs = Number(values.runs);
const wanted = AXES.filter(({ name }) => values.only.length === 0 || values.only.includes(name));
if (wanted.length === 0) throw new Error(`axes: ${AXES.map(({ name }) => name).join(', ')}`);
const surroundings = describeSurroundings(new Date());
for (const axis of wanted) {
  const points: Point[] = [];
  for (const size of axis.sizes) points.push(await measurePoint(axis, size, runs));
  keepGrowth(withAxis(readGrowth(), { axis: axis.name, surroundings, runs, points }));
}
