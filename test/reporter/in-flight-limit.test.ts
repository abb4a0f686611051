import { describe, expect, onTestFinished, test } from 'vitest';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import { InFlightLimit, MAX_IN_FLIGHT } from '../../src/reporter/in-flight-limit.ts';
import type { RejectedEvent } from '../../src/reporter/rejections.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { createLineSink } from '../../src/testing/index.ts';
import { rejection } from '../helpers/sender.ts';

const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };
const full = expect.objectContaining({ code: 'ERR_QUEUE_FULL' });

const never = <T>(): Promise<T> => new Promise(() => {});

async function lost(): Promise<never> {
  throw new Error('lost');
}

function opened(options: Partial<ReporterOptions>) {
  const sink = createLineSink();
  const rejected: RejectedEvent[] = [];
  const reporter = createReporter({
    service: SERVICE,
    log: { destination: sink },
    platform: false,
    onRejected: (event) => rejected.push(event),
    ...options,
  });
  onTestFinished(async () => void (await reporter.close({ deadlineMs: 0 })));
  return { reporter, sink, rejected };
}

describe('what is in hand', () => {
  test('is so much and no more, until something of it is over', async () => {
    const inHand = new InFlightLimit();
    const ends: (() => void)[] = [];
    const work = () => new Promise<void>((resolve) => ends.push(resolve));
    const all = Array.from({ length: MAX_IN_FLIGHT }, () => inHand.during(work));
    expect(ends).toHaveLength(MAX_IN_FLIGHT);
    expect(() => inHand.checkRoom()).toThrow(full);
    await expect(inHand.during(work)).rejects.toThrow(full);
    expect(ends).toHaveLength(MAX_IN_FLIGHT);
    ends[0]?.();
    await all[0];
    expect(() => inHand.checkRoom()).not.toThrow();
    void inHand.during(work);
    expect(() => inHand.checkRoom()).toThrow(full);
  });

  test('is not what has failed', async () => {
    const inHand = new InFlightLimit();
    for (let count = 0; count < MAX_IN_FLIGHT; count += 1) await rejection(inHand.during(lost));
    expect(await rejection(inHand.during(lost))).toMatchObject({ message: 'lost' });
  });
});

const INCIDENT = { incident_id: 'i', incident_type: 'xss', name: 'n', severity: 'major' } as const;

test('while a sender does not answer, events beyond so many come back, and their records are written', async () => {
  const { reporter, sink, rejected } = opened({
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
  expect(rejected).toMatchObject([
    { channel: 'webhook', method: 'attack', payload: { ruleset: 'lfi' } },
    { channel: 'webhook', method: 'incident', payload: INCIDENT },
  ]);
  expect(rejected.map(({ error }) => error.code)).toEqual(['ERR_QUEUE_FULL', 'ERR_QUEUE_FULL']);
  expect(reporter.stats()).toMatchObject({
    reported: MAX_IN_FLIGHT + 2,
    written: MAX_IN_FLIGHT + 2,
    accepted: 0,
    rejected: { log: 0, webhook: 2 },
  });
});
