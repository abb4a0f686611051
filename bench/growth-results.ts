/** Whether cost grows linearly with size, or more slowly. */
import { readFileSync, writeFileSync } from 'node:fs';
import { AXES, type Axis, type Metric, type Point } from './axes.ts';
import type { Surroundings } from './surroundings.ts';

const FILE = new URL('./growth.json', import.meta.url);

export interface GrowthOfAxis {
  readonly axis: Axis['name'];
  readonly surroundings: Surroundings;
  readonly runs: number;
  readonly points: readonly Point[];
}

export const readGrowth = (): GrowthOfAxis[] =>
  JSON.parse(readFileSync(FILE, 'utf8')) as GrowthOfAxis[];

/** In the order of the axes; an axis that is measured again takes the place of the one before. */
export function withAxis(kept: readonly GrowthOfAxis[], measured: GrowthOfAxis): GrowthOfAxis[] {
  const all = [...kept.filter(({ axis }) => axis !== measured.axis), measured];
  return AXES.flatMap(({ name }) => all.find(({ axis }) => axis === name) ?? []);
}

const digits = (_key: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(4)) : value;

export const keepGrowth = (growth: readonly GrowthOfAxis[]): void =>
  writeFileSync(FILE, `${JSON.stringify(growth, digits, 1)}\n`);

/** What must not grow faster than size: times, where a throughput was measured, and memory. */
export function costOf({ messagesIn }: Axis, metric: Metric, point: Point): number {
  const value = point[metric];
  return metric === 'messagesPerSecond' ? messagesIn(point.size) / value : value;
}

/**
 * The exponent of growth between the last two points, where what does not grow weighs least: at 1 cost grows
 * as size does, at 0 not at all.
 */
export function exponentOf(axis: Axis, metric: Metric, points: readonly Point[]): number {
  const [before, last] = points.slice(-2);
  if (before === undefined || last === undefined) return Number.NaN;
  const growth = costOf(axis, metric, last) / costOf(axis, metric, before);
  return Math.log(growth) / Math.log(last.size / before.size);
}

/** Samples scatter: between points that are ten times apart 0.15 is 40 %. */
const SCATTER = 0.15;

export const isLinearOrBetter = (exponent: number): boolean => exponent <= 1 + SCATTER;
