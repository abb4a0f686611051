/** Draws small SVG plots for light and dark backgrounds, with one panel per metric. */

export interface Panel {
  readonly title: string;
  readonly xLabel: string;
  readonly scale: 'log' | 'linear';
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

const PANEL = { width: 300, height: 230 } as const;
const MARGIN = { left: 62, right: 14, top: 34, bottom: 44 } as const;
const PLOT = {
  width: PANEL.width - MARGIN.left - MARGIN.right,
  height: PANEL.height - MARGIN.top - MARGIN.bottom,
} as const;

const STYLE = `
  .ground { fill: #ffffff; } .axis { stroke: #57606a; } .grid { stroke: #d0d7de; }
  text { fill: #24292f; font: 11px sans-serif; } .title { font-weight: bold; }
  .line { stroke: #0969da; fill: none; stroke-width: 2; } .point { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } .axis { stroke: #8b949e; } .grid { stroke: #30363d; }
    text { fill: #e6edf3; } .line { stroke: #58a6ff; } .point { fill: #58a6ff; }
  }`;

/** Factors of ticks between powers of ten: 10, 20, 50, 100 … */
const STEPS = [1, 2, 5];

/** Returns the ticks of a log axis: powers of ten, and in narrow ranges also their multiples by 2 and 5. */
function logTicks(values: readonly number[]): number[] {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const from = Math.floor(Math.log10(least));
  const to = Math.ceil(Math.log10(most));
  const powers = Array.from(
    { length: Math.max(to - from, 1) + 1 },
    (_, index) => 10 ** (from + index),
  );
  if (powers.length > 2) return powers;
  const all = powers.flatMap((power) => STEPS.map((step) => step * power));
  const first = all.findLast((tick) => tick <= least) ?? all[0] ?? least;
  const last = all.find((tick) => tick >= most) ?? most;
  const ticks = all.filter((tick) => tick >= first && tick <= last);
  return ticks.length > 1 ? ticks : powers;
}

/** Returns the ticks of a linear axis: four or five steps from 0. */
function linearTicks(values: readonly number[]): number[] {
  const most = Math.max(...values);
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = power * ([1, 2, 2.5, 5, 10].find((times) => power * times * 5 >= most) ?? 10);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step);
}

const SUFFIXES = [
  [1e6, 'M'],
  [1e3, 'k'],
] as const;

function shortNumber(value: number): string {
  const [unit, suffix] = SUFFIXES.find(([least]) => value >= least) ?? [1, ''];
  return `${Number((value / unit).toPrecision(3))}${suffix}`;
}

type Scale = (value: number) => number;

function scaleOf(ticks: readonly number[], scale: Panel['scale'], from: number, to: number): Scale {
  const by = scale === 'log' ? Math.log10 : (value: number) => value;
  const first = by(ticks[0] ?? 0);
  const last = by(ticks.at(-1) ?? 1);
  return (value) =>
    Number((from + ((by(value) - first) / (last - first)) * (to - from)).toFixed(1));
}

function panel({ title, xLabel, scale, points }: Panel, index: number): string {
  const xs = points.map(({ x }) => x);
  const xTicks = scale === 'log' ? logTicks(xs) : linearTicks(xs);
  const yTicks = logTicks(points.map(({ y }) => y));
  const x = scaleOf(xTicks, scale, MARGIN.left, MARGIN.left + PLOT.width);
  const y = scaleOf(yTicks, 'log', MARGIN.top + PLOT.height, MARGIN.top);
  const places = points.map((point) => ({ x: x(point.x), y: y(point.y) }));
  return `<g transform="translate(${index * PANEL.width} 0)">
${ticksOf(xTicks, yTicks, x, y)}
<polyline class="line" points="${places.map((place) => `${place.x},${place.y}`).join(' ')}"/>
${places.map((place) => `<circle class="point" cx="${place.x}" cy="${place.y}" r="3"/>`).join('\n')}
<text class="title" x="${MARGIN.left}" y="18">${escaped(title)}</text>
<text x="${MARGIN.left + PLOT.width / 2}" y="${PANEL.height - 8}" text-anchor="middle">${escaped(xLabel)}</text>
</g>`;
}

function ticksOf(xTicks: readonly number[], yTicks: readonly number[], x: Scale, y: Scale): string {
  const bottom = MARGIN.top + PLOT.height;
  const right = MARGIN.left + PLOT.width;
  return [
    ...xTicks.map(
      (tick) =>
        `<path class="grid" d="M${x(tick)} ${MARGIN.top}V${bottom}"/><text x="${x(tick)}" y="${bottom + 15}" text-anchor="middle">${shortNumber(tick)}</text>`,
    ),
    ...yTicks.map(
      (tick) =>
        `<path class="grid" d="M${MARGIN.left} ${y(tick)}H${right}"/><text x="${MARGIN.left - 6}" y="${y(tick) + 4}" text-anchor="end">${shortNumber(tick)}</text>`,
    ),
    `<path class="axis" fill="none" d="M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}"/>`,
  ].join('\n');
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

const escaped = (text: string): string => text.replace(/[&<>]/g, (sign) => ESCAPES[sign] ?? sign);

export function plot(title: string, panels: readonly Panel[]): string {
  const width = panels.length * PANEL.width;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${PANEL.height}" width="${width}" height="${PANEL.height}" role="img" aria-label="${escaped(title)}">
<style>${STYLE}
</style>
<rect class="ground" width="${width}" height="${PANEL.height}"/>
${panels.map(panel).join('\n')}
</svg>
`;
}
