/** What `onRejected` and the diagnostics channel do with a rejected event, and with errors of the host. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import { createMemoryIncidents } from '../../src/incident/memory-incidents.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { createLineSink } from '../../src/testing/index.ts';
import { ATTACK, INCIDENT, openReporter, openSendingReporter } from './open-reporter.ts';

function fail(): never {
  throw new Error('secret of the host');
}

const failing = async (): Promise<never> => fail();

test('a message is delivered when the log fails, and the record is rejected without parsing it again', async () => {
  const full = createLineSink({ failWith: () => new Error('ENOSPC') });
  const { reporter, messages, rejected } = await openSendingReporter({
    log: { destination: full },
  });
  const parse = vi.spyOn(JSON, 'parse');
  const receipt = reporter.attack({ ruleset: 'xss' });
  const parsed = parse.mock.calls.length;
  parse.mockRestore();
  expect(parsed).toBe(0);
  expect(receipt.record).toBeUndefined();
  expect(await receipt.settled).toEqual({ outcome: 'delivered' });
  expect(messages()).toHaveLength(1);
  const error = { code: 'ERR_WRITE_FAILED', input: { payload: { ruleset: 'xss' } } };
  expect(rejected).toMatchObject([{ channel: 'log', error }]);
});

test('a record that does not fit into the buffer of the log is rejected', async () => {
  const destination = { write: () => {} };
  const log = { destination, sync: false, maxBufferBytes: 1 };
  const { reporter, rejected } = openReporter({ log });
  for (const receipt of [reporter.attack({ ruleset: 'xss' }), reporter.incident(INCIDENT)])
    expect(receipt.record).toBeUndefined();
  expect(rejected).toMatchObject([
    { channel: 'log', method: 'attack', error: { code: 'ERR_WRITE_FAILED' } },
    { channel: 'log', method: 'incident', error: { code: 'ERR_WRITE_FAILED' } },
  ]);
  expect(await reporter.stats()).toMatchObject({ written: 0, rejected: { log: 2 } });
});

test('a record that is lost after its call is counted as rejected, not as written', async () => {
  const log = { destination: { write: failing }, sync: false };
  const { reporter, rejected } = openReporter({ log });
  const payload = { ruleset: 'a_new_word' };
  reporter.attack(payload);
  expect(await reporter.stats()).toMatchObject({ written: 1, outsideStrict: 1 });
  const error = { code: 'ERR_WRITE_FAILED' };
  expect(await reporter.flush()).toMatchObject({ logError: error });
  expect(rejected).toMatchObject([{ channel: 'log', payload, error }]);
  expect(await reporter.stats()).toMatchObject({
    written: 0,
    outsideStrict: 0,
    rejected: { log: 1 },
  });
  expect(await reporter.close()).not.toHaveProperty('logError');
});

test('an incident is rejected once on each channel when the store cannot retract it', async () => {
  const full = createLineSink({ failWith: () => new Error('ENOSPC') });
  const memory = createMemoryIncidents();
  const { reporter, rejections } = await openSendingReporter({
    log: { destination: full },
    webhook: { send: failing, flush: async () => {}, close: async () => {} } as never,
    incidents: { record: (report) => memory.record(report), retract: failing },
  });
  const { settled } = reporter.incident(INCIDENT);
  expect(await settled).toEqual({ outcome: 'rejected', reason: 'ERR_QUEUE_FAILED' });
  await reporter.flush();
  expect(rejections()).toEqual(['log ERR_WRITE_FAILED', 'webhook ERR_QUEUE_FAILED']);
});

test('an error of onRejected affects nothing else', async () => {
  const { reporter } = await openSendingReporter({ onRejected: fail });
  expect(() => reporter.attack({ ruleset: 1n } as never)).not.toThrow();
  expect((await reporter.stats()).rejected).toEqual({ log: 1, webhook: 1 });
});

test('onRejected is called once for each channel when it reports events that are rejected too', async () => {
  let calls = 0;
  const { reporter } = await openSendingReporter({
    onRejected: ({ payload }) => {
      calls += 1;
      reporter.customEvent('rejected', { payload });
    },
  });
  reporter.attack({ ruleset: 1n } as never);
  expect(calls).toBe(2);
  expect(await reporter.stats()).toMatchObject({ reported: 3, rejected: { log: 3, webhook: 3 } });
});

describe('an error of the host’s code', () => {
  const idle = { flush: async () => {}, close: async () => {} };
  const OTHER_COPY = { name: 'SecurityEventError', code: 'ERR_UNKNOWN_APPLICATION', path: [0] };
  const foreign = Object.assign(new Error('secret of the host'), OTHER_COPY);

  test.each<[string, Partial<ReporterOptions>, readonly string[]]>([
    ['a writer', { log: { ...idle, write: fail } }, ['log ERR_WRITE_FAILED']],
    ['a sender', { webhook: { ...idle, send: failing } as never }, ['webhook ERR_QUEUE_FAILED']],
    [
      'a sender of another copy of this library',
      { webhook: { ...idle, send: () => Promise.reject(foreign) } as never },
      ['webhook ERR_UNKNOWN_APPLICATION'],
    ],
    [
      'a sender that resolves to nothing',
      { webhook: { ...idle, send: async () => undefined } as never },
      ['webhook ERR_QUEUE_FAILED'],
    ],
    [
      'beforeSend',
      { beforeSend: fail },
      ['log ERR_BEFORE_SEND_FAILED', 'webhook ERR_BEFORE_SEND_FAILED'],
    ],
    [
      'an incident store',
      { incidents: { record: fail, retract: fail } },
      ['log ERR_QUEUE_FAILED', 'webhook ERR_QUEUE_FAILED'],
    ],
  ])(
    'is wrapped in an error of the operation, without its text: %s',
    async (_name, options, expected) => {
      const { reporter, rejected, rejections } = await openSendingReporter(options);
      const { settled } = reporter.incident(INCIDENT);
      const outcome = expected.some((one) => one.startsWith('webhook')) ? 'rejected' : 'delivered';
      expect((await settled).outcome).toBe(outcome);
      expect(rejections()).toEqual(expected);
      for (const { error } of rejected) {
        expect(error).toBeInstanceOf(SecurityEventError);
        expect(error.cause).toBeInstanceOf(Error);
        expect(error.message).not.toContain('secret of the host');
      }
    },
  );
});

test('host functions that reject cause no unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const listener = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', listener);
  onTestFinished(() => void process.off('unhandledRejection', listener));
  const log = { write: failing, flush: failing, close: failing };
  for (const options of [
    { onRejected: failing },
    { beforeSend: failing },
    { context: failing },
    { log },
  ]) {
    const { reporter } = await openSendingReporter(options as never);
    expect(() => reporter.attack({ ruleset: '' })).not.toThrow();
    expect(() => reporter.userLogin({ success: true })).not.toThrow();
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

test('a rejection is published on the diagnostics channel, without the event', async () => {
  const published: unknown[] = [];
  const listener = (message: unknown): void => void published.push(message);
  subscribe('security-event-delivery:rejected', listener);
  onTestFinished(() => void unsubscribe('security-event-delivery:rejected', listener));
  const { reporter } = openReporter();
  reporter.attack({ ruleset: '' });
  expect(published).toEqual([{ channel: 'log', method: 'attack', code: 'ERR_INVALID_RECORD' }]);
});

test('the error of a module that is no string names it as in the call', async () => {
  const { reporter, rejected } = await openSendingReporter();
  const { settled } = reporter.attack(ATTACK, { module: null } as never);
  expect(await settled).toEqual({ outcome: 'rejected', reason: 'ERR_INVALID_OPTION' });
  expect(rejected).toMatchObject([{ channel: 'webhook', error: { path: ['context', 'module'] } }]);
});
