import { expect, test } from 'vitest';
import { MAX_IN_FLIGHT } from '../../src/reporter/in-flight-limit.ts';
import { INCIDENT, openReporter } from './open-reporter.ts';

const never = <T>(): Promise<T> => new Promise(() => {});

test('events beyond the limit are rejected while a sender does not answer, and their records are written', async () => {
  const { reporter, sink, rejected } = openReporter({
    webhook: { send: never, flush: never, close: never },
  });
  for (let count = 0; count < MAX_IN_FLIGHT; count += 1) reporter.attack({ ruleset: 'xss' });
  await Promise.resolve();
  expect(rejected).toEqual([]);
  const last = [reporter.attack({ ruleset: 'lfi' }), reporter.incident(INCIDENT)];
  expect(last.map(({ record }) => record?.payload)).toEqual([
    { ruleset: 'lfi' },
    { ...INCIDENT, event_type: 'create' },
  ]);
  for (const { settled } of last) {
    expect(await settled).toEqual({ outcome: 'rejected', reason: 'ERR_QUEUE_FULL' });
  }
  expect(sink.lines).toHaveLength(MAX_IN_FLIGHT + 2);
  const error = { code: 'ERR_QUEUE_FULL' };
  expect(rejected).toMatchObject([
    { channel: 'webhook', method: 'attack', payload: { ruleset: 'lfi' }, error },
    { channel: 'webhook', method: 'incident', payload: INCIDENT, error },
  ]);
  const rejectedByChannel = { log: 0, webhook: 2 };
  expect(await reporter.stats()).toMatchObject({ accepted: 0, rejected: rejectedByChannel });
});

test.each([
  ['accepts', async () => ({ accepted: ['any'], skipped: [] })],
  ['rejects', () => Promise.reject(new Error('of the host'))],
])('an event makes place for the next one when the sender %s it', async (_name, send) => {
  const webhook = { send, flush: async () => {}, close: never } as never;
  const { reporter, rejections } = openReporter({ log: false, webhook });
  for (let count = 0; count < MAX_IN_FLIGHT; count += 1) reporter.attack({ ruleset: 'xss' });
  await reporter.flush();
  await reporter.attack({ ruleset: 'xss' }).settled;
  expect(rejections()).not.toContain('webhook ERR_QUEUE_FULL');
});
