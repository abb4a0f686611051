/** The pages of docs/ that are made of what was measured and is kept, by their paths. */
import { readGrowth } from '../growth-results.ts';
import { readKept } from '../kept.ts';
import { benchmarksPage } from './benchmarks.ts';
import { growthPlots, growthText } from './growth.ts';
import { scalePage } from './scale.ts';

export const measuredPages = (): Readonly<Record<string, string>> => ({
  'docs/benchmarks.md': benchmarksPage(readKept(), growthText(readGrowth())),
  'docs/scale.md': scalePage(readKept(), readGrowth()),
  ...growthPlots(readGrowth()),
});
