import { expect, test, vi } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { endOf, programCommand, startChild } from '../helpers/child-programs.ts';
import { parseLines } from '../helpers/log-records.ts';
import type { OnFinished } from '../helpers/temporary-files.ts';

vi.setConfig({ testTimeout: 30_000 });

/** What log-standard.ts tells of one destination on standard error. */
async function tell(
  onFinished: OnFinished,
  destination: string,
  command = programCommand('standard', [destination]),
) {
  const { code, stdout, stderr } = await endOf(startChild(command, undefined, onFinished));
  return { code, lines: parseLines(stdout).length, told: stderr };
}

test.concurrent('by default, and for process.stdout, 64 kB and more reach a pipe before process.exit', async ({
  onTestFinished,
}) => {
  const destinations = ['default', 'process.stdout'];
  const [byDefault, stream] = await Promise.all(
    destinations.map((destination) => tell(onTestFinished, destination)),
  );
  expect(byDefault).toEqual({ code: 0, lines: 1000, told: 'written 1000' });
  expect(stream).toEqual({ code: 0, lines: 1000, told: 'written 1000' });
});

test.concurrent('process.stderr and a replaced process.stdout are not mistaken for it', async ({
  onTestFinished,
}) => {
  const [stderr, replaced] = await Promise.all([
    tell(onTestFinished, 'process.stderr'),
    tell(onTestFinished, 'replaced'),
  ]);
  expect(stderr.code).toBe(0);
  expect(stderr.lines).toBe(0);
  expect(stderr.told).toContain('"event_name":"svc.ev0.threat.attack"');
  expect(replaced).toEqual({ code: 0, lines: 0, told: 'ERR_DESTINATION_NOT_SYNCHRONOUS' });
});

test.concurrent('a closed standard output fails with EPIPE, and does not end the host', async ({
  onTestFinished,
}) => {
  const command = ['sh', '-c', '"$@" | true', 'sh', ...programCommand('standard', ['closed'])];
  const closed = await tell(onTestFinished, 'closed', command);
  expect(closed).toEqual({ code: 0, lines: 0, told: 'EPIPE EPIPE' });
});

test.concurrent('standard output stays open, and free, when the writer is closed', async ({
  onTestFinished,
}) => {
  const closed = await tell(onTestFinished, 'close');
  expect(closed).toEqual({ code: 0, lines: 1, told: 'ended by itself' });
});

test.each(['stdout', 'stderr'] as const)('process.%s gets no listener', async (name) => {
  const stream = process[name];
  const before = stream.eventNames().map((event) => stream.listenerCount(event));
  const writer = createLogWriter({ destination: stream });
  expect(stream.eventNames().map((event) => stream.listenerCount(event))).toEqual(before);
  await writer.close();
  expect(stream.destroyed).toBe(false);
});
