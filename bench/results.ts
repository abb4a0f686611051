/** From samples to the figures of a row. */
import type { Comparison, Goal, Side, Unit } from './comparison.ts';
import type { Sample, Samples } from './sampling.ts';
import { type Summary, spreadOf, summarise } from './statistics.ts';

export interface SideResult {
  readonly label: string;
  /** The median in the unit of the row. */
  readonly value: number;
  /** Of the time, between the quartiles, as a share of the median. */
  readonly spread: number;
  /** Of the samples, which are milliseconds; of a row that tells MB they are MB. */
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
  /** Our time for an item in the rival's: above 1 we are slower. */
  readonly ratio: number;
  /** The same of processor time, which other programs' load changes less. */
  readonly cpuRatio: number;
  readonly goal?: Goal;
}

/** From the time of one sample and the number of items in it. */
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
  // Where a side does its work less often, its time is of fewer items.
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

/** What the goal of a row is about. */
export const measured = ({ ours, rival, ratio, cpuRatio }: Result, { measure }: Goal): number =>
  ({ ratio, cpuRatio, difference: ours.value - rival.value })[measure];

function sideResult(
  { unit, operations: usual, itemsPerOperation = 1, tellsMemory }: Comparison,
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
    ...(tellsMemory === true ? { addedMemoryBytes } : {}),
    samples,
  };
}
