/** How much memory the messages of a memory queue take, in a process that holds nothing else. */
import { expect, test } from 'vitest';
import { fixtureCommand, runProgram } from '../helpers/child-programs.ts';
import { root } from '../helpers/package-files.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const WAITING = quickOrNightly(40_000, 200_000);
// As much for each message, however many there are.
const BESIDE_BYTES = quickOrNightly(4e6, 20e6);

test(`holds at most 1.3 times the bytes of ${WAITING} waiting messages and ${BESIDE_BYTES / 1e6} MB`, async () => {
  const [, ...command] = fixtureCommand('memory-queue-size', [String(WAITING / 1000)]);
  const { stdout, stderr } = await runProgram(['--expose-gc', ...command], { cwd: root });
  expect(stderr).toBe('');
  const { pending, bytes, held } = JSON.parse(stdout) as Record<string, number>;
  expect(pending).toBe(WAITING);
  expect(bytes).toBeGreaterThan(WAITING * 700);
  expect(held).toBeGreaterThan(bytes as number);
  expect(held).toBeLessThan((bytes as number) * 1.3 + BESIDE_BYTES);
});
