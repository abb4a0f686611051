/** `npm run bench:check`: fails where a few quick rows are far outside the ratios in bench/results.json. */
import { CHECKED_ROWS, checkRow, MARGIN, type Measure } from './check.ts';
import { selectComparisons } from './comparisons.ts';
import { readKept } from './kept.ts';
import { resultOf } from './results.ts';
import { takeSamples } from './sampling.ts';

const measure: Measure = async (comparison, runs) =>
  resultOf(comparison, await takeSamples(comparison, { warmUps: 0, runs }));

const kept = readKept();
for (const name of CHECKED_ROWS) {
  const comparison = selectComparisons([name]).find((row) => row.name === name);
  if (comparison === undefined) throw new Error(`there is no row ${name}`);
  const { isFarOutside, words } = await checkRow(comparison, kept, measure);
  process.stdout.write(`${isFarOutside ? 'FAR OUTSIDE ' : 'as recorded '} ${words}\n`);
  if (isFarOutside) process.exitCode = 1;
}
process.stdout.write(`Far outside is more than ${MARGIN} times what was recorded.\n`);
