/** Computes the figures of a row from samples. */
import type { Comparison, Goal, Side, Unit } from './comparison.ts';
import type { Sample, Samples } from './sampling.ts';
import { type Summary, spreadOf, summarise } from './statistics.ts';

export interface SideResult {
  readonly label: string;
  /** The median in the unit of the row. */
  readonly value: number;
  /** Distance of the time's quartiles, as a share of the median. */
  readonly spread: number;
  /** Median of the samples: milliseconds, or MB in a row that measures memory. */
  readonly figures: Summary;
  readonly cpuMs: Summary;
  readonly addedMemoryBytes?: number;
  readonly samples: readonly number[];
}

export interface Result {
  readonly name: string;
  readonly work: string;
  readonly unit: Unit;
  readonly runs: number;
  readonly ours: SideResult;
  readonly rival: SideResult;
  /** Our time for an item divided by the rival's: above 1 we are slower. */
  readonly ratio: number;
  /** The same for processor time, which depends less on the load of other programs. */
  readonly cpuRatio: number;
  readonly goal?: Goal;
}

/** Converts the time of a sample with this many items. */
const VALUES: Readonly<Record<Unit, (ms: number, items: number) => number>> = {
  'µs per record': (ms, items) => (ms * 1000) / items,
  'µs per message': (ms, items) => (ms * 1000) / items,
  'µs per request': (ms, items) => (ms * 1000) / items,
  'µs per event': (ms, items) => (ms * 1000) / items,
  'messages/s': (ms, items) => (items * 1000) / ms,
  'ms per call': (ms, items) => ms / items,
  'ms per message': (ms, items) => ms / items,
  ms: (ms) => ms,
  MB: (megabytes) => megabytes,
};

export function resultOf(comparison: Comparison, taken: Samples): Result {
  const { name, work, unit, goal } = comparison;
  const ours = sideResult(comparison, comparison.ours, taken.ours);
  const rival = sideResult(comparison, comparison.rival, taken.rival);
  // Corrects for a side with fewer operations.
  const share = operationsOf(comparison, 'rival') / operationsOf(comparison, 'ours');
  return {
    name,
    work,
    unit,
    runs: taken.ours.length,
    ours,
    rival,
    ratio: unit === 'messages/s' ? rival.value / ours.value : ours.value / rival.value,
    cpuRatio: (ours.cpuMs.median / rival.cpuMs.median) * share,
    ...(goal === undefined ? {} : { goal }),
  };
}

const operationsOf = (comparison: Comparison, which: 'ours' | 'rival'): number =>
  comparison[which].operations ?? comparison.operations;

/** The value that the goal of a row limits. */
export function measured({ ours, rival, ratio, cpuRatio }: Result): Required<Goal> {
  return { ratio, cpuRatio, difference: ours.value - rival.value, value: ours.value };
}

/** Returns whether the row reaches its goal, or undefined without a goal. */
export function isMet(result: Result): boolean | undefined {
  if (result.goal === undefined) return undefined;
  const found = measured(result);
  const bounds = Object.entries(result.goal) as [keyof Goal, number][];
  return bounds.every(([measure, atMost]) => found[measure] <= atMost);
}

function sideResult(
  { unit, operations: usual, itemsPerOperation = 1, showsMemory }: Comparison,
  { label, operations = usual }: Side,
  taken: readonly Sample[],
): SideResult {
  const samples = taken.map(({ figure }) => figure);
  const figures = summarise(samples);
  const addedMemoryBytes = summarise(taken.map(({ rssBytes }) => rssBytes)).median;
  return {
    label,
    value: VALUES[unit](figures.median, operations * itemsPerOperation),
    spread: spreadOf(figures),
    figures,
    cpuMs: summarise(taken.map(({ cpuMs }) => cpuMs)),
    ...(showsMemory === true ? { addedMemoryBytes } : {}),
    samples,
  };
}
