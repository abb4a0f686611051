/** The check of the bench, on made-up results. Only `npm run bench:check` measures. */
import { expect, it } from 'vitest';
import { CHECKED_ROWS, checkRow, MARGIN, SMALLER } from '../bench/check.ts';
import { selectComparisons } from '../bench/comparisons.ts';
import { resultOf } from '../bench/results.ts';
import { readStoredResults } from '../bench/stored-results.ts';

const [ROW] = selectComparisons(['write-pino']);
if (ROW === undefined) throw new Error('no row');

const sample = (cpuMs: number) => ({ figure: cpuMs, cpuMs, rssBytes: 0 });
const taken = (ours: number) => resultOf(ROW, { ours: [sample(ours)], rival: [sample(100)] });
const surroundings = { date: '2026-11-22', machine: 'a machine', versions: {}, loadBefore: 0 };
const kept = [{ surroundings, results: [taken(110)] }];

/** Returns these results, one for each measurement. */
function measuring(...ours: readonly number[]) {
  const asked: number[] = [];
  const measure = ({ operations }: { readonly operations: number }) => {
    asked.push(operations);
    return Promise.resolve(taken(ours[asked.length - 1] ?? Number.NaN));
  };
  return { asked, measure };
}

it.each([
  ['as recorded', [110], false],
  ['faster', [10], false],
  ['slower by less than the margin', [110 * MARGIN - 1], false],
  ['slow twice', [110 * MARGIN + 1, 110 * MARGIN + 1], true],
  ['slow once', [1000, 120], false],
])('a row that is %s is judged by its ratio of CPU', async (_what, ours, hasRegressed) => {
  const { asked, measure } = measuring(...ours);
  const verdict = await checkRow(ROW, kept, measure);
  expect(verdict).toMatchObject({ name: 'write-pino', hasRegressed });
  expect(asked).toEqual(ours.map(() => ROW.operations / SMALLER));
});

it('shows the measured and the recorded ratio', async () => {
  const { text } = await checkRow(ROW, kept, measuring(300, 250).measure);
  expect(text).toBe("write-pino: 2.50 times the rival's CPU, recorded 1.10");
});

it('rejects a row that was never recorded', async () => {
  await expect(checkRow(ROW, [], measuring(1).measure)).rejects.toThrow('never recorded');
});

it('checks rows that are recorded', () => {
  const recorded = readStoredResults().flatMap(({ results }) => results.map(({ name }) => name));
  expect(recorded).toEqual(expect.arrayContaining(CHECKED_ROWS));
});
