/** The arithmetic and the rows of the bench. Only `npm run bench` measures. */
import { describe, expect, it } from 'vitest';
import type { Comparison } from '../bench/comparison.ts';
import { selectComparisons } from '../bench/comparisons.ts';
import { resultOf } from '../bench/results.ts';
import { interleave } from '../bench/sampling.ts';
import { summarise } from '../bench/statistics.ts';
import { readStoredResults, withRun } from '../bench/stored-results.ts';
import { renderTable } from '../bench/table.ts';
import { textOf } from './helpers/package-files.ts';

const ROWS = selectComparisons([]);

const ROW: Comparison = {
  name: 'row',
  work: 'work',
  subject: new URL('file:///subject.mjs'),
  ours: { label: 'we', side: 'a' },
  rival: { label: 'they', side: 'b' },
  operations: 100,
  itemsPerOperation: 10,
  unit: 'µs per message',
};

/** Returns whether a line of bench/README.md describes a row. */
const isOf = (line: string, name: string): boolean =>
  new RegExp(`^${line.replaceAll('…', '.+')}$`).test(name);

const samples = (...times: number[]) =>
  times.map((figure) => ({ figure, cpuMs: figure * figure, rssBytes: 1_500_000 }));

describe('statistics', () => {
  it.each([
    [[7], { median: 7, from: 7, to: 7 }],
    [[10, 9, 1], { median: 9, from: 5, to: 9.5 }],
    [[4, 1, 3, 2], { median: 2.5, from: 1.75, to: 3.25 }],
    [[100, 2, 3, 4, 1], { median: 3, from: 2, to: 4 }],
  ])('%j has the quartiles of a spreadsheet', (values, expected) => {
    expect(summarise(values)).toEqual(expected);
  });
});

describe('sampling', () => {
  it('takes turns, starts each sample after the one before, and discards the first rounds', async () => {
    const calls: string[] = [];
    const side = (name: string) => async () => {
      calls.push(`${name} starts`);
      await Promise.resolve();
      return calls.push(`${name} ends`);
    };
    const taken = await interleave(side('a'), side('b'), { warmUps: 1, runs: 2 });
    const round = ['a starts', 'a ends', 'b starts', 'b ends'];
    expect(calls).toEqual([...round, ...round, ...round]);
    expect(taken).toEqual([
      [6, 10],
      [8, 12],
    ]);
  });
});

describe('results', () => {
  it.each([
    ['µs per record', 3, 6],
    ['µs per message', 3, 6],
    ['messages/s', 1000 / 0.003, 1000 / 0.006],
    ['ms per call', 0.003, 0.006],
    ['ms', 3, 6],
  ] as const)('has the median in %s, and the ratio of the times', (unit, ours, rival) => {
    const row = { ...ROW, unit };
    const result = resultOf(row, { ours: samples(9, 3, 1), rival: samples(6, 6, 6) });
    expect(result.ours.value).toBeCloseTo(ours);
    expect(result.rival.value).toBeCloseTo(rival);
    expect(result).toMatchObject({ name: 'row', unit, runs: 3, ratio: 0.5, cpuRatio: 0.25 });
    expect(result.ours.samples).toEqual([9, 3, 1]);
  });
});

it('compares the cost of an item if the rival does less of the work', () => {
  const row = { ...ROW, rival: { ...ROW.rival, operations: 10 } };
  for (const unit of ['µs per message', 'messages/s'] as const) {
    const result = resultOf({ ...row, unit }, { ours: samples(4), rival: samples(2) });
    expect([result.ratio, result.cpuRatio]).toEqual([expect.closeTo(0.2), expect.closeTo(0.4)]);
  }
  const memory = resultOf({ ...row, unit: 'MB' }, { ours: samples(4), rival: samples(2) });
  expect([memory.ratio, memory.ours.value, memory.rival.value]).toEqual([2, 4, 2]);
});

describe('the stored results', () => {
  const surroundings = { date: '2026-11-22', machine: 'a machine', versions: {}, loadBefore: 0 };
  const run = (date: string, ...names: string[]) => ({
    surroundings: { ...surroundings, date },
    results: names.map((name) =>
      resultOf({ ...ROW, name }, { ours: samples(1), rival: samples(1) }),
    ),
  });

  it('have each row of the newest run that measured it, and no run without rows', () => {
    const kept = [run('first', 'a', 'b'), run('second', 'c')];
    const names = withRun(kept, run('third', 'b', 'c')).map(({ surroundings: of, results }) => [
      of.date,
      results.map(({ name }) => name),
    ]);
    expect(names).toEqual([
      ['first', ['a']],
      ['third', ['b', 'c']],
    ]);
  });

  it('are of existing rows, with their goals', () => {
    const goals = new Map(ROWS.map(({ name, goal }) => [name, goal]));
    for (const { name, goal } of readStoredResults().flatMap(({ results }) => results)) {
      expect([...goals.keys()]).toContain(name);
      expect(goal).toEqual(goals.get(name));
    }
  });
});

describe('the table', () => {
  it('has one line for a row, with memory only if the row shows it', () => {
    const taken = { ours: samples(3, 3, 4), rival: samples(1234, 1234, 1234) };
    const plain = resultOf(ROW, taken);
    const memory = resultOf({ ...ROW, unit: 'ms', showsMemory: true }, taken);
    expect(renderTable([plain, memory]).split('\n').slice(0, 4)).toEqual([
      '| row | work | ours | rival | ratio | cpu | goal | met | runs | spread |',
      '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
      '| row | work | we: 3.00 µs per message | they: 1,230 µs per message | 0.00 | 0.00 |  |  | 3 | 17 %, 0 % |',
      '| row | work | we: 3.00 ms, 1.5 MB | they: 1,230 ms, 1.5 MB | 0.00 | 0.00 |  |  | 3 | 17 %, 0 % |',
    ]);
  });

  it.each([
    [{ ratio: 1.25 }, 1.25, 'ratio ≤ 1.25 | yes'],
    [{ ratio: 1.25 }, 1.26, 'ratio ≤ 1.25 | **no**'],
    [{ cpuRatio: 1.25 }, 1.2, 'cpu ≤ 1.25 | **no**'],
    [{ ratio: 1.25, cpuRatio: 1.25 }, 1.2, 'ratio ≤ 1.25, cpu ≤ 1.25 | **no**'],
    [{ ratio: 1.25, cpuRatio: 1.5 }, 1.2, 'ratio ≤ 1.25, cpu ≤ 1.50 | yes'],
    [{ difference: 1 }, 2, 'at most 1 ms more | yes, 1.00 more'],
    [{ difference: 1 }, 2.1, 'at most 1 ms more | **no**, 1.10 more'],
    [{ value: 2 }, 2, 'ours ≤ 2 ms | yes'],
    [{ value: 2 }, 2.1, 'ours ≤ 2 ms | **no**'],
  ] as const)('shows whether the goal %j is met', (goal, ours, cells) => {
    const row = { ...ROW, goal, unit: 'ms' as const };
    const result = resultOf(row, { ours: samples(ours), rival: samples(1) });
    expect(renderTable([result]).split('\n')[2]).toContain(`| ${cells} |`);
  });
});

describe('the rows', () => {
  it('have each a line in bench/README.md, and each line has a row', () => {
    const [, section = ''] = textOf('bench/README.md').split('## What a row means');
    const cells = section.split(/^## /m)[0]?.matchAll(/^\| (`.+?`) \|/gm) ?? [];
    const lines = [...cells].flatMap(([, cell = '']) => cell.replaceAll('`', '').split(', '));
    const names = ROWS.map(({ name }) => name);
    expect(names.filter((name) => !lines.some((line) => isOf(line, name)))).toEqual([]);
    expect(lines.filter((line) => !names.some((name) => isOf(line, name)))).toEqual([]);
  });

  it('are selected by the beginnings of their names, in their own order', () => {
    const names = selectComparisons(['import-root', 'write']).map(({ name }) => name);
    expect(names).toEqual([
      'write-pino',
      'write-winston',
      'write-otel',
      'write-otel-object',
      'import-root',
    ]);
    expect(() => selectComparisons(['write', 'nothing'])).toThrow('No row is called nothing.');
  });

  it.each(ROWS)(
    '$name compares two sides that its subject has',
    async ({ subject, ours, rival }) => {
      const { sides } = (await import(subject.href)) as { sides: object };
      expect(Object.keys(sides)).toEqual(expect.arrayContaining([ours.side, rival.side]));
      expect([ours.side, ours.operations]).not.toEqual([rival.side, rival.operations]);
    },
  );
});
