import { expect, test } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { logFixtureCommand, startChild, waitForExit } from '../helpers/child-programs.ts';
import { parseLines } from '../helpers/log-records.ts';
import type { OnFinished } from '../helpers/temporary-files.ts';

/** Runs log-standard.ts with one destination, and returns what it prints to standard error. */
async function run(
  onFinished: OnFinished,
  destination: string,
  command = logFixtureCommand('standard', [destination]),
) {
  const { code, stdout, stderr } = await waitForExit(startChild(command, undefined, onFinished));
  return { code, lines: parseLines(stdout).length, printed: stderr };
}

test.concurrent('by default, and for process.stdout, 64 kB and more reach a pipe before process.exit', async ({
  onTestFinished,
}) => {
  for (const destination of ['default', 'process.stdout']) {
    const end = await run(onTestFinished, destination);
    expect(end).toEqual({ code: 0, lines: 1000, printed: 'written 1000' });
  }
});

test.concurrent('process.stderr and a replaced process.stdout are not mistaken for it', async ({
  onTestFinished,
}) => {
  const [stderr, replaced] = await Promise.all([
    run(onTestFinished, 'process.stderr'),
    run(onTestFinished, 'replaced'),
  ]);
  expect(stderr.code).toBe(0);
  expect(stderr.lines).toBe(0);
  expect(stderr.printed).toContain('"event_name":"svc.ev0.threat.attack"');
  expect(replaced).toEqual({ code: 0, lines: 0, printed: 'ERR_DESTINATION_NOT_SYNCHRONOUS' });
});

test.concurrent('a closed standard output fails with EPIPE, and does not crash the host', async ({
  onTestFinished,
}) => {
  const command = ['sh', '-c', '"$@" | true', 'sh', ...logFixtureCommand('standard', ['closed'])];
  const closed = await run(onTestFinished, 'closed', command);
  expect(closed).toEqual({ code: 0, lines: 0, printed: 'EPIPE EPIPE' });
});

test.concurrent('standard output stays open and writable when the writer is closed', async ({
  onTestFinished,
}) => {
  const closed = await run(onTestFinished, 'close');
  expect(closed).toEqual({ code: 0, lines: 1, printed: 'ended by itself' });
});

test.each(['stdout', 'stderr'] as const)('process.%s gets no listener', async (name) => {
  const stream = process[name];
  const before = stream.eventNames().map((event) => stream.listenerCount(event));
  const writer = createLogWriter({ destination: stream });
  expect(stream.eventNames().map((event) => stream.listenerCount(event))).toEqual(before);
  await writer.close();
  expect(stream.destroyed).toBe(false);
});
