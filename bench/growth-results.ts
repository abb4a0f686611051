/** Checks whether cost grows at most linearly with size. */
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

/** Returns results in the order of the axes. A new result replaces the previous one. */
export function withAxis(kept: readonly GrowthOfAxis[], measured: GrowthOfAxis): GrowthOfAxis[] {
  const all = [...kept.filter(({ axis }) => axis !== measured.axis), measured];
  return AXES.flatMap(({ name }) => all.find(({ axis }) => axis === name) ?? []);
}

const digits = (_key: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(4)) : value;

export const keepGrowth = (growth: readonly GrowthOfAxis[]): void =>
  writeFileSync(FILE, `${JSON.stringify(growth, digits, 1)}\n`);

/** Returns the time or memory of a point. Converts throughput into time. */
export function costOf({ messagesIn }: Axis, metric: Metric, point: Point): number {
  const value = point[metric];
  return metric === 'messagesPerSecond' ? messagesIn(point.size) / value : value;
}

/**
 * Returns the exponent of growth between the last two points, where constant costs matter least: 1 is linear,
 * 0 is constant.
 */
export function exponentOf(axis: Axis, metric: Metric, points: readonly Point[]): number {
  const [before, last] = points.slice(-2);
  if (before === undefined || last === undefined) return Number.NaN;
  const growth = costOf(axis, metric, last) / costOf(axis, metric, before);
  return Math.log(growth) / Math.log(last.size / before.size);
}

/** Allowed scatter of samples: between points ten times apart, 0.15 is 40 %. */
const SCATTER = 0.15;

export const isLinearOrBetter = (exponent: number): boolean => exponent <= 1 + SCATTER;
