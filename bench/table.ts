/** Renders results as a Markdown table. */
import type { Unit } from './comparison.ts';
import { isMet, measured, type Result, type SideResult } from './results.ts';

const HEAD = ['row', 'work', 'ours', 'rival', 'ratio', 'cpu', 'goal', 'met', 'runs', 'spread'];

export const LEGEND = `Medians. Ratio: our time in the rival's; above 1 we are slower. CPU: the same
ratio of the processor time of the process. Runs: samples of each side, taken in turn. Spread: between the
quartiles, as a share of the median, ours and rival's. MB beside a figure: resident memory that the measured part added.`;

const MEGABYTE = 1_000_000;

export function renderTable(results: readonly Result[]): string {
  const rows = [HEAD, HEAD.map(() => '---'), ...results.map(cellsOf)];
  return `${rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}

function cellsOf(result: Result): string[] {
  const { name, work, unit, ours, rival, ratio, cpuRatio, runs } = result;
  return [
    name,
    work,
    figure(ours, unit),
    figure(rival, unit),
    ratio.toFixed(2),
    cpuRatio.toFixed(2),
    goalOf(result),
    metOf(result),
    String(runs),
    `${percent(ours.spread)}, ${percent(rival.spread)}`,
  ];
}

function goalOf({ goal = {}, unit }: Result): string {
  const { ratio, cpuRatio, difference, value } = goal;
  return [
    ...(ratio === undefined ? [] : [`ratio ≤ ${ratio.toFixed(2)}`]),
    ...(cpuRatio === undefined ? [] : [`cpu ≤ ${cpuRatio.toFixed(2)}`]),
    ...(difference === undefined ? [] : [`at most ${difference} ${unit} more`]),
    ...(value === undefined ? [] : [`ours ≤ ${value} ${unit}`]),
  ].join(', ');
}

function metOf(result: Result): string {
  const reached = isMet(result);
  if (reached === undefined) return '';
  const { difference } = measured(result);
  const more = result.goal?.difference === undefined ? '' : `, ${difference.toFixed(2)} more`;
  return `${reached ? 'yes' : '**no**'}${more}`;
}

function figure({ label, value, addedMemoryBytes }: SideResult, unit: Unit): string {
  const memory =
    addedMemoryBytes === undefined ? '' : `, ${(addedMemoryBytes / MEGABYTE).toFixed(1)} MB`;
  return `${label}: ${threeDigits(value)} ${unit}${memory}`;
}

/** Rounds to three digits: more would be noise. */
function threeDigits(value: number): string {
  if (value >= 999.5) return Number(value.toPrecision(3)).toLocaleString('en-GB');
  return value.toPrecision(3);
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
