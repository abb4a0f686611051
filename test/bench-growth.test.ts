/** What the bench says of growth: its arithmetic and its plots; growth is measured by `npm run bench:growth` alone. */
import { expect, it } from 'vitest';
import { AXES, type Axis, type Point } from '../bench/axes.ts';
import { costOf, exponentOf, isLinearOrBetter, withAxis } from '../bench/growth-results.ts';
import { linearTicks, logTicks, plot, shortNumber } from '../bench/pages/plot.ts';

const axisNamed = (wanted: Axis['name']): Axis => {
  const found = AXES.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no axis ${wanted}`);
  return found;
};

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

it('takes the time of a request for the cost of its size', () => {
  const full = point(100, 1000);
  expect(costOf(axisNamed('batch size'), 'messagesPerSecond', full)).toBeCloseTo(0.1);
  expect(costOf(axisNamed('message size'), 'messagesPerSecond', full)).toBeCloseTo(0.001);
});

it('keeps axes in their own order, each of its last run', () => {
  const surroundings = { date: '2026-11-22', machine: 'a machine', versions: {}, loadBefore: 0 };
  const one = (axis: Axis['name'], runs: number) => ({ axis, surroundings, runs, points: [] });
  const kept = withAxis([one('batch size', 1), one('backlog', 1)], one('message size', 1));
  expect(withAxis(kept, one('backlog', 2)).map(({ axis, runs }) => [axis, runs])).toEqual([
    ['message size', 1],
    ['batch size', 1],
    ['backlog', 2],
  ]);
});

it.each([
  [
    [3, 4000],
    [1, 10, 100, 1000, 10_000],
  ],
  [
    [100, 1000],
    [100, 200, 500, 1000],
  ],
  [
    [130, 180],
    [100, 200],
  ],
  [
    [7, 7],
    [5, 10],
  ],
])('the ticks of a log axis around %j are %j', (values, ticks) => {
  expect(logTicks(values)).toEqual(ticks);
});

it('the ticks of a linear axis begin at 0 and reach what there is', () => {
  expect(linearTicks([0, 1_000_000])).toEqual([0, 200_000, 400_000, 600_000, 800_000, 1_000_000]);
});

it.each([
  [0, '0'],
  [0.25, '0.25'],
  [1000, '1k'],
  [2_500_000, '2.5M'],
])('%d is written as %s', (value, text) => {
  expect(shortNumber(value)).toBe(text);
});

it('a plot places the least and the most at the ends of its axes, and names them', () => {
  const points = [
    { x: 1, y: 10 },
    { x: 1000, y: 10_000 },
  ];
  const text = plot('a < b', [{ title: 'ms & more', xLabel: 'messages', scale: 'log', points }]);
  expect(text).toContain('<polyline class="line" points="62,186 286,34"/>');
  expect(text).toContain('>ms &amp; more</text>');
  expect(text).toContain('>messages</text>');
  expect(text).toContain('aria-label="a &lt; b"');
});
