/** Generates the section about growth of bench/results.md, and its plots. */
import { axisNamed, type Metric } from '../axes.ts';
import { exponentOf, type GrowthOfAxis, isLinearOrBetter } from '../growth-results.ts';
import { renderSurroundings } from '../surroundings.ts';
import { plot } from './plot.ts';

const METRICS: readonly (readonly [Metric, string])[] = [
  ['messagesPerSecond', 'messages/s'],
  ['latencyMs', 'latency (ms)'],
  ['peakMegabytes', 'peak memory (MB)'],
];

const pathOf = ({ axis }: GrowthOfAxis): string => `plots/${axis.replaceAll(' ', '-')}.svg`;

export const growthPlots = (growth: readonly GrowthOfAxis[]): Readonly<Record<string, string>> =>
  Object.fromEntries(growth.map((one) => [`bench/${pathOf(one)}`, plotOf(one)]));

function plotOf(one: GrowthOfAxis): string {
  const { label, scale, name } = axisNamed(one.axis);
  const panels = METRICS.map(([metric, title]) => ({
    title,
    xLabel: label,
    scale,
    points: one.points.map((point) => ({ x: point.size, y: point[metric] })),
  }));
  return plot(`Throughput, latency and memory over ${name}`, panels);
}

export function growthText(growth: readonly GrowthOfAxis[]): string {
  if (growth.length === 0) return '';
  return `
## Cost as it grows

Medians of runs, each in its own process. The exponent describes the growth between the last two points: 1 is linear, 0 is constant. Up
to 1.15 counts as linear, because samples scatter. Memory is the peak resident size, including Node's.

| over | what | exponent | |
| --- | --- | --- | --- |
${growth.flatMap(rowsOf).join('\n')}
${growth.map(sectionOf).join('')}`;
}

function rowsOf(one: GrowthOfAxis): string[] {
  const axis = axisNamed(one.axis);
  const names: Readonly<Record<Metric, string>> = {
    messagesPerSecond: axis.time,
    latencyMs: 'latency',
    peakMegabytes: 'peak memory',
  };
  return METRICS.map(([metric]) => {
    const exponent = exponentOf(axis, metric, one.points);
    const verdict = isLinearOrBetter(exponent) ? 'linear or better' : '**worse than linear**';
    return `| ${axis.name} | ${names[metric]} | ${exponent.toFixed(2)} | ${verdict} |`;
  });
}

function sectionOf(one: GrowthOfAxis): string {
  const { name, work, label } = axisNamed(one.axis);
  const rows = one.points.map((point) => {
    const { size, messagesPerSecond, latencyMs, peakMegabytes } = point;
    const cells = [messagesPerSecond, latencyMs, peakMegabytes].map((value) =>
      Number(value.toPrecision(3)).toLocaleString('en-GB'),
    );
    return `| ${[size.toLocaleString('en-GB'), ...cells].join(' | ')} |`;
  });
  return `
### Over ${name}

${work.charAt(0).toUpperCase()}${work.slice(1)}.

![Throughput, latency and peak memory over ${name}](${pathOf(one)})

| ${label} | messages/s | latency, ms | peak memory, MB |
| --- | --- | --- | --- |
${rows.join('\n')}

${one.runs} runs. ${renderSurroundings(one.surroundings).split('\n')[0]}
`;
}
