/** Results as one Markdown table. */
import type { Unit } from './comparison.ts';
import type { Result, SideResult } from './results.ts';

const HEAD = ['row', 'work', 'ours', 'rival', 'ratio', 'cpu', 'runs', 'spread'];

const LEGEND = `Medians. Ratio: our time in the rival's; above 1 we are slower. CPU: the same
ratio of the processor time of the process. Runs: samples of each side, taken in turn. Spread: between the
quartiles of the time, as a share of the median, ours and rival's. MB: resident memory that the import added.`;

const MEGABYTE = 1_000_000;

export function renderTable(results: readonly Result[]): string {
  const rows = [HEAD, HEAD.map(() => '---'), ...results.map(cellsOf)];
  return `${rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n\n${LEGEND}\n`;
}

function cellsOf({ name, work, unit, ours, rival, ratio, cpuRatio, runs }: Result): string[] {
  return [
    name,
    work,
    figure(ours, unit),
    figure(rival, unit),
    ratio.toFixed(2),
    cpuRatio.toFixed(2),
    String(runs),
    `${percent(ours.spread)}, ${percent(rival.spread)}`,
  ];
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
