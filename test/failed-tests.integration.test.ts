/** CI prints the output of scripts/failed-tests.mjs before the log of a failed run. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram } from './helpers/child-programs.ts';
import { root } from './helpers/package-files.ts';
import { temporaryFolder } from './helpers/temporary-files.ts';

const PASSED = Array.from({ length: 5000 }, (_, index) => ` ✓ tells of Error: ${index} 3ms`);
const UNHANDLED = [
  '⎯⎯⎯⎯⎯⎯ Unhandled Errors ⎯⎯⎯⎯⎯⎯',
  '',
  'Vitest caught 1 unhandled error during the test run.',
  '',
  '⎯⎯⎯⎯ Unhandled Rejection ⎯⎯⎯⎯⎯',
  'Error: the socket is gone',
  ' ❯ src/webhook/http/client.ts:1:1',
];
const SUMMARY = [
  ' Test Files  450 passed (450)',
  '      Tests  10847 passed (10847)',
  '     Errors  1 error',
];

const passedTest = { status: 'passed', fullName: 'is well', failureMessages: [] };
const failedTest = {
  status: 'failed',
  fullName: 'is not',
  failureMessages: ['expected 1 to be 2'],
};
const reportOf = (...assertionResults: object[]) => ({
  testResults: [
    { name: join(root, 'test/a.test.ts'), status: 'failed', message: '', assertionResults },
  ],
});

async function printed(log: readonly string[], report?: object): Promise<string> {
  const folder = temporaryFolder();
  const [reportFile, logFile] = [join(folder, 'report.json'), join(folder, 'log')];
  if (report !== undefined) writeFileSync(reportFile, JSON.stringify(report));
  writeFileSync(logFile, log.join('\n'));
  const args = [join(root, 'scripts/failed-tests.mjs'), reportFile, logFile];
  const { exitCode, stdout, stderr } = await runProgram(args, { cwd: root });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

test('names each failed test with its error, without the log', async () => {
  const stdout = await printed([...UNHANDLED, ...SUMMARY], reportOf(passedTest, failedTest));
  expect(stdout).toBe('  test/a.test.ts > is not\n    expected 1 to be 2\n');
});

test('prints the causes of their errors once', async () => {
  const caused = '\u001B[31mCaused by: Error\u001B[39m: the folder is gone';
  const log = [...PASSED, caused, ' ❯ src/a.ts:1:1', caused, ...UNHANDLED, ...SUMMARY];
  const stdout = await printed(log, reportOf(failedTest));
  expect(stdout.split('\n').slice(2)).toEqual(['    Caused by: Error: the folder is gone', '']);
});

test('prints the few lines of the log that explain a failure without a failed test', async () => {
  const log = [...PASSED, ...UNHANDLED, ...PASSED, ...SUMMARY];
  const stdout = await printed(log, reportOf(passedTest));
  const reasons = [...UNHANDLED, ...SUMMARY].filter((line) => line !== '');
  expect(stdout.split('\n')).toEqual(expect.arrayContaining(reasons.map((line) => `    ${line}`)));
  expect(stdout.split('\n').length).toBeLessThan(70);
});

test.each([
  ['a file that could not be loaded', '⎯⎯ Failed Suites 1 ⎯⎯'],
  ['a crashed worker', 'Caused by: Error: Worker exited unexpectedly'],
  ['a full heap', 'FATAL ERROR: Reached heap limit Allocation failed'],
  ['coverage', 'ERROR: Coverage for branches (94.9%) does not meet global threshold (95%)'],
])('prints %s, with or without colours, even without a report', async (_what, reason) => {
  const noise = Array.from({ length: 500 }, (_, index) => `Error: expected ${index}`);
  const log = [...PASSED, ...noise, `\u001B[31m${reason}\u001B[39m`, ...PASSED, ...SUMMARY];
  const lines = (await printed(log)).split('\n');
  expect(lines).toContain(`    ${reason}`);
  expect(lines.length).toBeLessThan(70);
});
