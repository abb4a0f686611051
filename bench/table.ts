/** Results as one Markdown table. */
import type { Unit } from './comparison.ts';
import { measured, type Result, type SideResult } from './results.ts';

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

function goalOf({ goal }: Result): string {
  if (goal === undefined) return '';
  const { measure, atMost, words } = goal;
  return measure === 'difference' ? words : `${words} (${NAMES[measure]} ≤ ${atMost.toFixed(2)})`;
}

const NAMES = { ratio: 'ratio', cpuRatio: 'cpu', difference: 'difference' } as const;

function metOf(result: Result): string {
  const { goal } = result;
  if (goal === undefined) return '';
  const found = measured(result, goal);
  const told = `${NAMES[goal.measure]} ${found.toFixed(2)}`;
  if (goal.moonshot !== undefined && found <= goal.moonshot) return `moonshot, ${told}`;
  return `${found <= goal.atMost ? 'yes' : '**no**'}, ${told}`;
}

function figure({ label, value, addedMemoryBytes }: SideResult, unit: Unit): string {
  const memory =
    addedMemoryBytes === undefined ? '' : `, ${(addedMemoryBytes / MEGABYTE).toFixed(1)} MB`;
  return `${label}: ${threeDigits(value)} ${unit}${memory}`;
}

/** More would be noise. */
function threeDigits(value: number): string {
  if (value >= 999.5) return Number(value.toPrecision(3)).toLocaleString('en-GB');
  return value.toPrecision(3);
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
