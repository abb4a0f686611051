import { expect, it } from 'vitest';
import { bar, startProgress } from '../../src/cli/progress.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { deferred } from '../helpers/promises.ts';
import { fakeTerminal } from '../helpers/terminal.ts';

it('is written over and over, in one line that fits, and taken away at the end', async () => {
  const twice = deferred();
  let count = 0;
  const terminal = fakeTerminal({
    isTerminal: true,
    columns: 10,
    clock: { ...systemClock, sleep: () => Promise.resolve() },
  });
  const progress = startProgress(terminal, () => {
    count += 1;
    if (count === 3) twice.resolve();
    return `${count} of very many`;
  });
  await twice.promise;
  await progress.stop();
  expect(terminal.stdout()).toBe('');
  const lines = terminal.stderr().split('\r\u001B[K');
  expect(lines.slice(0, 3)).toEqual(['', '1 of very', '2 of very']);
  expect(lines.at(-1)).toBe('');
});

it.each([
  ['there is no terminal', {}],
  ['it cannot clear a line', { isTerminal: true, environment: { TERM: 'dumb' } }],
])('is nothing where %s', async (_, options) => {
  const terminal = fakeTerminal(options);
  await startProgress(terminal, () => 'text').stop();
  expect(terminal.stderr()).toBe('');
});

it.each([
  [0, 10, '[------------------------] '],
  [5, 10, '[############------------] '],
  [10, 10, '[########################] '],
  [11, 10, '[########################] '],
  [1, 0, ''],
  [1, undefined, ''],
])('the bar of %s of %s is %j', (done, whole, text) => {
  expect(bar(done, whole)).toBe(text);
});
