/** `npm run bench:check`: fails if a quick row is much slower than its ratio in bench/results.json. */
import { CHECKED_ROWS, checkRow, MARGIN, type Measure } from './check.ts';
import { selectComparisons } from './comparisons.ts';
import { resultOf } from './results.ts';
import { takeSamples } from './sampling.ts';
import { readStoredResults } from './stored-results.ts';

const measure: Measure = async (comparison, runs) =>
  resultOf(comparison, await takeSamples(comparison, { warmUps: 0, runs }));

const kept = readStoredResults();
for (const name of CHECKED_ROWS) {
  const comparison = selectComparisons([name]).find((row) => row.name === name);
  if (comparison === undefined) throw new Error(`there is no row ${name}`);
  const { hasRegressed, text } = await checkRow(comparison, kept, measure);
  process.stdout.write(`${hasRegressed ? 'REGRESSED' : 'ok       '} ${text}\n`);
  if (hasRegressed) process.exitCode = 1;
}
process.stdout.write(`A row has regressed if it exceeds ${MARGIN} times the recorded ratio.\n`);
