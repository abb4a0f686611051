/** From samples to the figures of a row. */
import type { Comparison, Unit } from './comparison.ts';
import type { Sample, Samples } from './sampling.ts';
import { type Summary, spreadOf, summarise } from './statistics.ts';

export interface SideResult {
  readonly label: string;
  /** The median in the unit of the row. */
  readonly value: number;
  /** Of the time, between the quartiles, as a share of the median. */
  readonly spread: number;
  readonly timeMs: Summary;
  readonly cpuMs: Summary;
  readonly addedMemoryBytes?: number;
  readonly samplesMs: readonly number[];
}

export interface Result {
  readonly name: string;
  readonly work: string;
  readonly unit: Unit;
  readonly runs: number;
  readonly ours: SideResult;
  readonly rival: SideResult;
  /** Our time in the rival's: above 1 we are slower. */
  readonly ratio: number;
  /** The same of processor time, which other programs' load changes less. */
  readonly cpuRatio: number;
}

/** From the time of one sample and the number of items in it. */
const VALUES: Readonly<Record<Unit, (ms: number, items: number) => number>> = {
  'µs per record': (ms, items) => (ms * 1000) / items,
  'µs per message': (ms, items) => (ms * 1000) / items,
  'µs per request': (ms, items) => (ms * 1000) / items,
  'messages/s': (ms, items) => (items * 1000) / ms,
  'ms per call': (ms, items) => ms / items,
  'ms per message': (ms, items) => ms / items,
  ms: (ms) => ms,
};

export function resultOf(comparison: Comparison, samples: Samples): Result {
  const { name, work, unit } = comparison;
  const ours = sideResult(comparison, comparison.ours.label, samples.ours);
  const rival = sideResult(comparison, comparison.rival.label, samples.rival);
  const ratio = ours.timeMs.median / rival.timeMs.median;
  const cpuRatio = ours.cpuMs.median / rival.cpuMs.median;
  return { name, work, unit, runs: samples.ours.length, ours, rival, ratio, cpuRatio };
}

function sideResult(
  { unit, operations, itemsPerOperation = 1, tellsMemory }: Comparison,
  label: string,
  samples: readonly Sample[],
): SideResult {
  const samplesMs = samples.map(({ ms }) => ms);
  const timeMs = summarise(samplesMs);
  const addedMemoryBytes = summarise(samples.map(({ rssBytes }) => rssBytes)).median;
  return {
    label,
    value: VALUES[unit](timeMs.median, operations * itemsPerOperation),
    spread: spreadOf(timeMs),
    timeMs,
    cpuMs: summarise(samples.map(({ cpuMs }) => cpuMs)),
    ...(tellsMemory === true ? { addedMemoryBytes } : {}),
    samplesMs,
  };
}
