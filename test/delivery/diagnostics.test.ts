import { describe, expect, test } from 'vitest';
import { EVENT_TABLE } from '../../src/delivery/events.ts';
import type { OrganisedApplication } from '../../src/index.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { wrapQueue } from '../helpers/queues.ts';
import {
  applicationsOf,
  listen,
  message,
  messages,
  openReceiver,
  openSender,
  SECRET,
  senderTo,
  type Told,
} from '../helpers/sender.ts';

const PAYLOAD = 'hunter2';
const ANSWER = 'thewordsofareceiver';
const PATH = '/token-of-the-url';

/** The changes of destinations, in order, without what is told of single attempts. */
const storyOf = ({ events }: Told): string[] =>
  events
    .filter(({ name }) => !name.startsWith('attempt') && name !== 'accepted')
    .map(({ name }) => name);

describe('diagnostics', () => {
  test('tell the story of a destination that fails, is open, is probed and recovers', async () => {
    const told = listen();
    const script = Array.from({ length: 4 }, () => ({ status: 500, body: ANSWER }));
    const receiver = await openReceiver({ script, path: PATH });
    const sender = senderTo(receiver, {
      schedule: { delaysMs: [1], repeatLast: true },
      minProbeWaitMs: 1,
      openAfterFailures: 3,
      cautiousMaxMessages: 1,
      slowStartStepMs: 2,
    });
    await sender.send(messages(5, 'shop-1', PAYLOAD));
    await sender.flush();
    await sender.close();
    expect(storyOf(told)).toEqual([
      'destination-opened',
      'destination-probing',
      'destination-probing',
      'destination-recovered',
    ]);
    expect(told.of('accepted')).toMatchObject([{ applicationId: 'shop-1', format: 2, count: 5 }]);
    expect(
      told
        .of('attempt-started')
        .map(({ isProbe }) => isProbe)
        .slice(0, 6),
    ).toEqual([false, false, false, true, true, false]);
    expect(told.of('attempt-settled')).toHaveLength(told.of('attempt-started').length);
    expectNothingSecret(told, receiver.url);
  });

  test('tell of an attempt what was sent and how it ended, in words of closed vocabularies', async () => {
    const told = listen();
    const receiver = await openReceiver({ script: [{ status: 503, retryAfter: 0 }], path: PATH });
    const sender = senderTo(receiver, { schedule: { delaysMs: [1] } });
    await sender.send(messages(2, 'shop-1', PAYLOAD));
    await sender.flush();
    const [first, second] = told.of('attempt-settled');
    expect(first).toEqual({
      senderId: expect.any(String),
      applicationId: 'shop-1',
      attempt: 1,
      format: 2,
      messageCount: 2,
      bytes: receiver.requests[0]?.body.length,
      maxRetryCount: 0,
      isProbe: false,
      outcome: 'pause',
      status: 503,
      retryAfterMs: 0,
      timings: expect.objectContaining({ totalMs: expect.any(Number) }),
      reusedConnection: false,
    });
    expect(second).toMatchObject({ attempt: 2, maxRetryCount: 1, outcome: 'delivered' });
    for (const { name, event } of told.events) {
      const fields = EVENT_TABLE[name].fields as readonly string[];
      expect(Object.keys(event).filter((key) => ![...fields, 'senderId'].includes(key))).toEqual(
        [],
      );
    }
    expectNothingSecret(told, receiver.url);
  });

  test('tell of a pause that a receiver asks for', async () => {
    const told = listen();
    const receiver = await openReceiver({ otherwise: { status: 429, retryAfter: 60 } });
    const sender = senderTo(receiver);
    await sender.send(messages(1, 'shop-1', PAYLOAD));
    await told.until('destination-paused');
    const [paused] = told.of('destination-paused');
    expect(paused).toMatchObject({ applicationId: 'shop-1' });
    expect(paused?.waitMs).toBeGreaterThanOrEqual(60_000);
    expect(paused?.waitMs).toBeLessThanOrEqual(75_000);
    expect(told.of('attempt-settled')).toMatchObject([{ retryAfterMs: 60_000 }]);
    expectNothingSecret(told, receiver.url);
  });

  test('tell what is skipped, dead, purged, evicted into nothing and handed back', async () => {
    const told = listen();
    const refusing = await openReceiver({ otherwise: { status: 404, body: ANSWER }, path: PATH });
    const hanging = await openReceiver({ otherwise: { fault: 'hang' }, path: PATH });
    const { applications } = applicationsOf({ refusing, hanging });
    const sender = openSender({
      settings: {
        applications: Object.fromEntries(
          Object.entries(applications).map(([id, application]) => [
            id,
            { ...application, modules: { sqli: true } },
          ]),
        ),
      },
      refusedMaxAttempts: 1,
    });
    await sender.send([message('no', 'refusing', PAYLOAD)], { module: 'xss' });
    await sender.send([message('dead', 'refusing', PAYLOAD)]);
    await sender.flush();
    await sender.purge();
    await sender.send([message('back', 'hanging', PAYLOAD)]);
    await sender.close({ deadlineMs: 0 });
    expect(told.of('skipped')).toMatchObject([
      { applicationId: 'refusing', reason: 'module-not-selected', count: 1 },
    ]);
    expect(told.of('dead')).toMatchObject([
      { applicationId: 'refusing', message_id: 'dead', reason: 'attempts-exhausted' },
    ]);
    expect(told.of('discarded')).toMatchObject([
      { reason: 'purged', count: 1 },
      { reason: 'returned', count: 1 },
    ]);
    expectNothingSecret(told, refusing.url, hanging.url);
  });

  test('tell of a destination that closes, and of each message that dies with it', async () => {
    const told = listen();
    const receiver = await openReceiver({ otherwise: { status: 410, body: ANSWER }, path: PATH });
    const sender = senderTo(receiver, { goneConfirmMs: 0 });
    await sender.send(messages(3, 'shop-1', PAYLOAD));
    await sender.flush();
    await sender.send(messages(1, 'shop-1', PAYLOAD));
    expect(storyOf(told)).toEqual(['destination-closed', 'dead', 'dead', 'dead', 'skipped']);
    expect(told.of('dead').map(({ reason }) => reason)).toEqual(
      Array(3).fill('destination-closed'),
    );
    expect(told.of('skipped')).toMatchObject([{ reason: 'destination-closed', count: 1 }]);
    expectNothingSecret(told, receiver.url);
  });

  test.each<['unknown' | 'unusable' | 'failed', () => OrganisedApplication | undefined]>([
    ['unknown', () => undefined],
    [
      'unusable',
      () => ({ name: 'shop', environment: 'test', url: 'ftp://a.example', secret: SECRET }),
    ],
    [
      'failed',
      () => {
        throw new Error(SECRET);
      },
    ],
  ])('tell of a destination that is missing, since it is %s', async (because, answer) => {
    const told = listen();
    const receiver = await openReceiver({ path: PATH });
    let asked = 0;
    const [application] = Object.values(applicationsOf({ 'shop-1': receiver }).applications);
    const sender = openSender({
      settings: () => {
        asked += 1;
        return asked === 2 ? answer() : application;
      },
      schedule: { delaysMs: [1] },
      minProbeWaitMs: 1,
    });
    await sender.send(messages(1, 'shop-1', PAYLOAD));
    await sender.flush();
    expect(told.of('destination-missing')).toMatchObject([
      { applicationId: 'shop-1', because, waitMs: 1 },
    ]);
    expect(receiver.requests.map(({ retryCounts }) => retryCounts)).toEqual([[0]]);
    expectNothingSecret(told, receiver.url);
  });

  test('tell of a message that nobody picks up, which is then picked up', async () => {
    const told = listen();
    const receiver = await openReceiver({ path: PATH });
    const memory = createMemoryQueue();
    let isDeaf = true;
    const queue = wrapQueue(memory, {
      // A store that loses its notifications, and looks empty from here.
      claim: async (request) => (isDeaf ? {} : await memory.claim(request)),
      onDue: () => () => {},
    });
    const sender = senderTo(receiver, { queue, maintenanceIntervalMs: 5, stalledAfterMs: 1 });
    await sender.send(messages(1, 'shop-1', PAYLOAD));
    await told.until('stalled');
    expect(told.of('stalled')[0]?.oldestDueMs).toBeGreaterThan(1);
    isDeaf = false;
    expect(await sender.flush()).toMatchObject({ delivered: 1 });
    expectNothingSecret(told, receiver.url);
  });

  test('are not made where nobody listens', async () => {
    const receiver = await openReceiver();
    const sender = senderTo(receiver);
    await sender.send(messages(1));
    expect(await sender.flush()).toMatchObject({ delivered: 1 });
  });
});

function expectNothingSecret({ events }: Told, ...urls: readonly string[]): void {
  expect(events.length).toBeGreaterThan(0);
  const text = JSON.stringify(events);
  const ports = urls.map((url) => `:${new URL(url).port}/`);
  for (const word of [SECRET, PAYLOAD, ANSWER, PATH, '127.0.0.1', ...ports, ...urls]) {
    expect(text).not.toContain(word);
  }
}
