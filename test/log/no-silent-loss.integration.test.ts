/** D83: losses after `write` has returned show where a user looks first. */
import { closeSync, constants, openSync } from 'node:fs';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import type { LogWriterOptions } from '../../src/log/writer-options.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { createFakeClock } from '../../src/testing/fake-clock.ts';
import { smallRecord } from '../helpers/log-records.ts';
import { namedPipe, stalledPipe } from '../helpers/temporary-files.ts';
import { openReporter } from '../reporter/open-reporter.ts';

type Destination = NonNullable<LogWriterOptions['destination']>;

/** The descriptor of a pipe whose reader went away. */
function closedPipe(): number {
  const path = namedPipe();
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  closeSync(reader);
  onTestFinished(() => closeSync(writer));
  return writer;
}

const FAILING: readonly (readonly [string, () => Destination, string])[] = [
  ['a full disk by path', () => '/dev/full', 'ENOSPC'],
  [
    'a full disk by a pino destination',
    () => pino.destination({ dest: '/dev/full', sync: false }),
    'ENOSPC',
  ],
  ['a closed pipe', closedPipe, 'EPIPE'],
  ['a write that rejects', () => ({ write: () => Promise.reject(new Error('no')) }), ''],
];

test.each(FAILING)(
  'with sync: false, %s shows in flush and counters',
  async (_name, make, code) => {
    const writer = createLogWriter({ destination: make(), sync: false });
    for (let count = 0; count < 5; count += 1) writer.write(smallRecord());
    const { lost, error } = await writer.flush();
    expect(lost).toBe(5);
    expect(error).toMatchObject({ code: 'ERR_WRITE_FAILED' });
    expect(error?.message).toContain(code);
    expect(await writer.stats()).toMatchObject({ written: 0, pending: 0, failed: 5 });
    expect(await writer.close()).toEqual({ lost: 0 });
  },
);

test('with sync: false, a loss shows in close when flush was not called', async () => {
  const writer = createLogWriter({ destination: '/dev/full', sync: false });
  writer.write(smallRecord());
  expect(await writer.close()).toMatchObject({ lost: 1, error: { code: 'ERR_WRITE_FAILED' } });
});

test.each(['flush', 'close'] as const)(
  'what a log writer of the caller lost later shows in %s of the reporter',
  async (method) => {
    const log = createLogWriter({ destination: '/dev/full', sync: false });
    const { reporter } = openReporter({ log });
    reporter.attack({ ruleset: 'xss' });
    const logError = { code: 'ERR_WRITE_FAILED', cause: { code: 'ENOSPC' } };
    expect(await reporter[method]()).toMatchObject({ logError });
  },
);

test.each<readonly [string, () => Destination]>([
  ['a pipe that nobody reads', () => stalledPipe().fd],
  ['a stream of Node', () => new Writable({ write: () => {} })],
  ['a write that never settles', () => ({ write: () => new Promise(() => {}) })],
])('close rejects each event whose line %s did not take', async (_name, destinationOf) => {
  const clock = createFakeClock();
  const log = { destination: destinationOf(), sync: false };
  const { reporter, rejected } = openReporter({ log }, { clock });
  const ruleset = 'x'.repeat(100_000);
  for (let count = 0; count < 5; count += 1) reporter.attack({ ruleset });
  const closed = await clock.runUntilSettled(reporter.close());
  expect(closed).toMatchObject({ logError: { code: 'ERR_WRITE_FAILED' } });
  expect(rejected).toHaveLength(5);
  expect(rejected[4]).toMatchObject({ channel: 'log', error: { code: 'ERR_WRITE_FAILED' } });
  expect(await reporter.stats()).toMatchObject({ written: 0, rejected: { log: 5 } });
});

describe.each<readonly [string, () => NonNullable<ReporterOptions['log']>]>([
  ['a full disk', () => ({ destination: '/dev/full' })],
  ['a log writer of the caller', () => createLogWriter({ destination: '/dev/full' })],
])('with sync: true, %s', (_name, logOf) => {
  test('shows in the flush of a reporter, once', async () => {
    const { reporter } = openReporter({ log: logOf() });
    reporter.attack({ ruleset: 'xss' }, { actor: { ip: '203.0.113.9' } });
    expect(await reporter.flush()).toMatchObject({ logError: { code: 'ERR_WRITE_FAILED' } });
    expect(await reporter.flush()).not.toHaveProperty('logError');
    expect(await reporter.close()).not.toHaveProperty('logError');
  });

  test('shows in close when flush was not called', async () => {
    const { reporter } = openReporter({ log: logOf() });
    reporter.attack({ ruleset: 'xss' }, { actor: { ip: '203.0.113.9' } });
    expect(await reporter.close()).toMatchObject({ logError: { code: 'ERR_WRITE_FAILED' } });
  });

  test('does not show an event that was not valid', async () => {
    const { reporter } = openReporter({ log: logOf() });
    reporter.attack({ ruleset: 1 as never }, { actor: { ip: '203.0.113.9' } });
    expect(await reporter.close()).not.toHaveProperty('logError');
  });
});
