import { expect, test, vi } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { endOf, startChild } from '../helpers/log-child.ts';
import { programCommand } from '../helpers/log-programs.ts';
import { parseLines } from '../helpers/log-records.ts';

vi.setConfig({ testTimeout: 30_000 });

/** What log-standard.ts tells of one destination on standard error. */
async function tell(destination: string, command = programCommand('standard', [destination])) {
  const { code, stdout, stderr } = await endOf(startChild(command));
  return { code, lines: parseLines(stdout).length, told: stderr };
}

test('by default, and for process.stdout, 64 kB and more reach a pipe before process.exit', async () => {
  const [byDefault, stream] = await Promise.all([tell('default'), tell('process.stdout')]);
  expect(byDefault).toEqual({ code: 0, lines: 1000, told: 'written 1000' });
  expect(stream).toEqual({ code: 0, lines: 1000, told: 'written 1000' });
});

test('process.stderr and a replaced process.stdout are told apart from it', async () => {
  const [stderr, replaced] = await Promise.all([tell('process.stderr'), tell('replaced')]);
  expect(stderr.code).toBe(0);
  expect(stderr.lines).toBe(0);
  expect(stderr.told).toContain('"event_name":"svc.ev0.threat.attack"');
  expect(replaced).toEqual({ code: 0, lines: 0, told: 'ERR_DESTINATION_NOT_SYNCHRONOUS' });
});

test('a closed standard output is told by EPIPE, and does not end the host', async () => {
  const command = ['sh', '-c', '"$@" | true', 'sh', ...programCommand('standard', ['closed'])];
  expect(await tell('closed', command)).toEqual({ code: 0, lines: 0, told: 'EPIPE EPIPE' });
});

test.each(['stdout', 'stderr'] as const)('process.%s gets no listener', async (name) => {
  const stream = process[name];
  const before = stream.eventNames().map((event) => stream.listenerCount(event));
  const writer = createLogWriter({ destination: stream });
  expect(stream.eventNames().map((event) => stream.listenerCount(event))).toEqual(before);
  await writer.close();
  expect(stream.destroyed).toBe(false);
});

test('standard output stays open, and free, when the writer is closed', async () => {
  expect(await tell('close')).toEqual({ code: 0, lines: 1, told: 'ended by itself' });
});
