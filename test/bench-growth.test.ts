/** The arithmetic of growth in the bench. Only `npm run bench:growth` measures. */
import { expect, it } from 'vitest';
import { type Axis, axisNamed, type Point } from '../bench/axes.ts';
import { costOf, exponentOf, isLinearOrBetter, withAxis } from '../bench/growth-results.ts';

const point = (size: number, value: number): Point => ({
  size,
  messagesPerSecond: value,
  latencyMs: value,
  peakMegabytes: value,
});

it.each([
  ['latencyMs', [point(10, 5), point(100, 5)], 0, true],
  ['latencyMs', [point(1, 900), point(10, 5), point(100, 50)], 1, true],
  ['peakMegabytes', [point(10, 5), point(100, 500)], 2, false],
  ['messagesPerSecond', [point(10, 100), point(100, 10)], 1, true],
  ['messagesPerSecond', [point(10, 100), point(100, 1)], 2, false],
] as const)('of %s over %j the exponent is %d', (metric, points, exponent, isLinear) => {
  const found = exponentOf(axisNamed('message size'), metric, points);
  expect(found).toBeCloseTo(exponent);
  expect(isLinearOrBetter(found)).toBe(isLinear);
});

it('uses the time of a request as the cost of its size', () => {
  const full = point(100, 1000);
  expect(costOf(axisNamed('batch size'), 'messagesPerSecond', full)).toBeCloseTo(0.1);
  expect(costOf(axisNamed('message size'), 'messagesPerSecond', full)).toBeCloseTo(0.001);
});

it('keeps axes in their own order, each with its last run', () => {
  const surroundings = { date: '2026-11-22', machine: 'a machine', versions: {}, loadBefore: 0 };
  const one = (axis: Axis['name'], runs: number) => ({ axis, surroundings, runs, points: [] });
  const kept = withAxis([one('batch size', 1), one('backlog', 1)], one('message size', 1));
  expect(withAxis(kept, one('backlog', 2)).map(({ axis, runs }) => [axis, runs])).toEqual([
    ['message size', 1],
    ['batch size', 1],
    ['backlog', 2],
  ]);
});
