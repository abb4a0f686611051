/** Generates the pages and plots of the stored results, by path. */
import { readGrowth } from '../growth-results.ts';
import { readStoredResults } from '../stored-results.ts';
import { benchmarksPage } from './benchmarks.ts';
import { growthPlots, growthText } from './growth.ts';
import { scalePage } from './scale.ts';

export const measuredPages = (): Readonly<Record<string, string>> => ({
  'bench/results.md': benchmarksPage(readStoredResults(), growthText(readGrowth())),
  'bench/scale.md': scalePage(readStoredResults(), readGrowth()),
  ...growthPlots(readGrowth()),
});
