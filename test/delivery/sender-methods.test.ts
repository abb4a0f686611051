import { describe, expect, test } from 'vitest';
import { messageToSend } from '../../src/contract/index.ts';
import { testMessage } from '../../src/delivery/send-test.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import {
  applicationsOf,
  batches,
  GENEROUS_TIMEOUT,
  ids,
  message,
  messages,
  openReceiver,
  openSender,
  rejection,
  SECRET,
  senderTo,
} from '../helpers/sender.ts';

const NEVER = { schedule: { delaysMs: [600_000] } } as const;

test('roles that share a queue: one accepts without URL or secret, the other delivers', async () => {
  const receiver = await openReceiver();
  const queue = createMemoryQueue();
  const agent = openSender({
    queue,
    role: 'enqueue',
    settings: { applications: { 'shop-1': { name: 'shop', environment: 'test' } } },
  });
  await agent.send(messages(3));
  expect(await agent.flush()).toMatchObject({ delivered: 0, dead: 0, discarded: 0 });
  expect(await agent.stats()).toMatchObject({ pending: 3, attempts: 0 });

  const settings = applicationsOf({ 'shop-1': receiver });
  const dispatcher = openSender({ queue, role: 'deliver', settings });
  await receiver.waitForRequests(1, GENEROUS_TIMEOUT);
  expect(batches(receiver)).toEqual([ids(3)]);
  await agent.send([message('m-3')]);
  await receiver.waitForRequests(2, GENEROUS_TIMEOUT);
  expect(batches(receiver)).toEqual([ids(3), ['m-3']]);
  expect(await dispatcher.stats()).toMatchObject({ accepted: 4, attempts: 2 });
});

test('dead letters are listed in pages, replayed with their ids and a rising retry_count, and purged', async () => {
  const receiver = await openReceiver({ otherwise: { status: 400 } });
  const sender = senderTo(receiver, { schedule: { delaysMs: [] } });
  await sender.send(messages(5));
  expect(await sender.flush()).toMatchObject({ dead: 5 });

  const first = await sender.deadLetters({ limit: 3 });
  expect(first.items.map(({ message_id }) => message_id)).toEqual(ids(3));
  expect(first.items[0]).toMatchObject({
    applicationId: 'shop-1',
    reason: 'attempts-exhausted',
    status: 400,
    sends: 1,
  });
  expect(first.items[0]).not.toHaveProperty('failure');
  expect(first.items[0]?.content).toEqual(message('m-0'));
  expect(JSON.stringify(first.items)).not.toContain('sql_injection');
  const rest = await sender.deadLetters({ limit: 3, after: String(first.next) });
  expect(rest.items.map(({ message_id }) => message_id)).toEqual(ids(2, 3));
  expect(rest.next).toBeUndefined();
  const named = { ids: [String(rest.items[0]?.id), 'none', String(first.items[2]?.id)] };
  const { items: found } = await sender.deadLetters(named);
  expect(found.map(({ message_id }) => message_id)).toEqual(ids(2, 2));
  expect(await sender.deadLetters({ ...named, applicationId: 'other' })).toEqual({ items: [] });

  expect(await sender.purge({ ids: [String(first.items[1]?.id)] })).toBe(1);
  expect(await sender.replay({ ids: [String(first.items[0]?.id)] })).toBe(1);
  await receiver.waitForRequests(2, GENEROUS_TIMEOUT);
  expect(receiver.requests[1]).toMatchObject({ messageIds: ['m-0'], retryCounts: [1] });
  expect(await sender.purge({ applicationId: 'other' })).toBe(0);
  expect((await sender.stats()).discarded).toEqual({ purged: 1 });
});

describe('sendTest', () => {
  test('sends one test message to the receiver, without the queue', async () => {
    const receiver = await openReceiver({ script: [{ status: 200 }, { status: 500 }] });
    const sender = senderTo(receiver, NEVER);
    expect(await sender.sendTest('shop-1')).toMatchObject({ ok: true });
    expect(await sender.sendTest('shop-1')).toMatchObject({ ok: false });
    expect(receiver.requests.map(({ signatureOk }) => signatureOk)).toEqual([true, true]);
    expect(receiver.requests[0]?.messages).toMatchObject([
      { message_type: 'test', message: { application_id: 'shop-1' } },
    ]);
    expect(await sender.stats()).toMatchObject({ accepted: 0, dead: 0 });
  });

  test.each([
    [
      'the settings have no URL and secret for it',
      { 'shop-1': { name: 'shop', environment: 'test' } },
    ],
    ['the settings have no URL and secret for it', {}],
    [
      'its settings have `enabled: false`',
      { 'shop-1': { name: 'shop', environment: 'test', enabled: false } },
    ],
  ])('rejects because %s', async (why, applications) => {
    const sender = openSender({ settings: { applications } });
    expect(await rejection(sender.sendTest('shop-1'))).toMatchObject({
      code: 'ERR_UNKNOWN_APPLICATION',
      path: ['applicationId'],
      message: expect.stringContaining(`The application is unknown or unusable: ${why}. `),
    });
  });

  test('looks up the settings once, and sends what they say', async () => {
    const receiver = await openReceiver();
    let asked = 0;
    const sender = openSender({
      settings: () => {
        asked += 1;
        const name = `answer ${asked}`;
        return { name, environment: 'test', url: receiver.url, secret: SECRET };
      },
    });
    expect(await sender.sendTest('shop-1')).toMatchObject({ ok: true });
    expect(asked).toBe(1);
    expect(receiver.requests[0]?.messages).toMatchObject([
      { message: { application_name: 'answer 1' } },
    ]);
  });
});

const SUBJECT = {
  applicationId: 'shop-1',
  name: 'Shop',
  environment: 'production',
  id: '0192a1b2-0000-7000-8000-000000000001',
  now: Date.UTC(2026, 10, 21, 10),
};

test('the test message is that of the decisions (D30, D46)', () => {
  expect(testMessage(SUBJECT)).toEqual({
    message_id: SUBJECT.id,
    message_type: 'test',
    message: {
      application_id: 'shop-1',
      application_name: 'Shop',
      environment: 'production',
      id: SUBJECT.id,
      event_category: 'test',
      event_kind: 'test_kind',
      date_occurred: '2026-11-21T10:00:00.000+00:00',
      humanized_description: 'A test of the webhook. Nothing happened.',
      url: `urn:uuid:${SUBJECT.id}`,
      ips: [],
    },
  });
});

test.each(['strict', 'open'] as const)('the %s contract takes it as it is', (dialect) => {
  const given = testMessage(SUBJECT);
  expect(messageToSend(dialect).safeParse(given)).toMatchObject({ success: true, data: given });
});
