/** The pages that show the kept results, by path. */
import { readGrowth } from '../growth-results.ts';
import { readKept } from '../kept.ts';
import { benchmarksPage } from './benchmarks.ts';
import { growthPlots, growthText } from './growth.ts';
import { scalePage } from './scale.ts';

export const measuredPages = (): Readonly<Record<string, string>> => ({
  'bench/results.md': benchmarksPage(readKept(), growthText(readGrowth())),
  'bench/scale.md': scalePage(readKept(), readGrowth()),
  ...growthPlots(readGrowth()),
});
