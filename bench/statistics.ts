/** Median and spread of many samples. */

export interface Summary {
  readonly median: number;
  /** The quartiles: half of the samples lie between them. */
  readonly from: number;
  readonly to: number;
}

/** Returns median and quartiles, interpolated like in spreadsheets. Needs at least one value. */
export function summarise(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    from: quantile(sorted, 0.25),
    to: quantile(sorted, 0.75),
  };
}

function quantile(sorted: readonly number[], share: number): number {
  const position = (sorted.length - 1) * share;
  const below = Math.floor(position);
  const lower = sorted[below] ?? Number.NaN;
  const upper = sorted[Math.ceil(position)] ?? lower;
  return lower + (upper - lower) * (position - below);
}

/** Returns the distance of the quartiles as a share of the median. */
export function spreadOf({ median, from, to }: Summary): number {
  return (to - from) / median;
}
