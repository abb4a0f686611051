import { describe, expect, test, vi } from 'vitest';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { startEngine } from '../helpers/fake-engine.ts';
import {
  applicationsOf,
  batches,
  ids,
  message,
  messages,
  openReceiver,
  openSender,
  PATIENCE,
  rejection,
  SECRET,
  senderTo,
} from '../helpers/sender.ts';

const SOON = { schedule: { delaysMs: [5, 5, 5, 5, 5] } } as const;
const NEVER = { schedule: { delaysMs: [600_000] } } as const;

describe('a destination that says 410 twice', () => {
  const CLOSING = { ...SOON, goneConfirmMs: 0 } as const;

  test('is closed: what waits dies, what comes is skipped, until a call reopens it', async () => {
    // As long as it takes: the second 410 may come within the millisecond of the first.
    let isGone = true;
    const receiver = await openReceiver({
      script: () => (isGone ? { status: 410 } : undefined),
    });
    const sender = senderTo(receiver, { ...CLOSING, goneConfirmMs: 1, cautiousMaxMessages: 1 });
    await sender.send(messages(3));
    expect(await sender.flush()).toEqual({
      delivered: 0,
      dead: 3,
      discarded: 0,
      settledElsewhere: 0,
      pending: 0,
      failures: [{ applicationId: 'shop-1', status: 410 }],
    });
    expect((await sender.deadLetters()).items.map(({ reason }) => reason)).toEqual(
      Array(3).fill('destination-closed'),
    );
    const { applications } = await sender.stats();
    expect(applications.get('shop-1')).toMatchObject({ tier: 'closed', dead: 3 });
    expect(await sender.send([message('late')])).toEqual({
      accepted: [],
      skipped: [{ index: 0, applicationId: 'shop-1', reason: 'destination-closed' }],
    });
    expect(await sender.replay()).toBe(0);

    isGone = false;
    await sender.reopen('shop-1');
    expect(await sender.replay()).toBe(3);
    await sender.send([message('later')]);
    await sender.flush();
    expect(receiver.messageIds()).toEqual(new Map([...ids(3), 'later'].map((id) => [id, 1])));
  });

  test('is open again under a new URL', async () => {
    const gone = await openReceiver({ otherwise: { status: 410 } });
    const next = await openReceiver();
    let { url } = gone;
    const sender = openSender({
      ...CLOSING,
      settings: () => ({ name: 'shop', environment: 'test', url, secret: SECRET }),
    });
    await sender.send(messages(1));
    expect(await sender.flush()).toMatchObject({ dead: 1 });
    expect((await sender.send([message('skipped')])).accepted).toEqual([]);
    url = next.url;
    expect((await sender.send([message('m-1')])).accepted).toEqual(['m-1']);
    await sender.flush();
    expect(batches(next)).toEqual([['m-1']]);
  });

  test('does not make a call fail that was accepted for others', async () => {
    const gone = await openReceiver({ otherwise: { status: 410 } });
    const healthy = await openReceiver();
    const { applications } = applicationsOf({ gone, healthy });
    let answersLeft = Number.POSITIVE_INFINITY;
    const sender = openSender({
      ...CLOSING,
      settings: (id) => {
        if (id === 'gone' && --answersLeft < 0) throw new Error('the database is away');
        return applications[id];
      },
    });
    await sender.send([message('m-0', 'gone')]);
    await sender.flush();
    answersLeft = 1;
    const result = await sender.send([message('m-1', 'gone'), message('m-2', 'healthy')]);
    expect(result).toEqual({
      accepted: ['m-2'],
      skipped: [{ index: 0, applicationId: 'gone', reason: 'destination-closed' }],
    });
    await sender.flush();
    expect(batches(healthy)).toEqual([['m-2']]);
  });
});

describe('roles', () => {
  test('that share a queue: one accepts without URL or secret, the other delivers', async () => {
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
    await receiver.waitForRequests(1, PATIENCE);
    expect(batches(receiver)).toEqual([ids(3)]);
    await agent.send([message('m-3')]);
    await receiver.waitForRequests(2, PATIENCE);
    expect(batches(receiver)).toEqual([ids(3), ['m-3']]);
    expect(await dispatcher.stats()).toMatchObject({ accepted: 4, attempts: 2 });
  });

  test('that share a queue: a new URL of a closed destination is seen by the one that delivers (D72)', async () => {
    const gone = await openReceiver({ otherwise: { status: 410 } });
    const next = await openReceiver();
    const queue = createMemoryQueue();
    let { url } = gone;
    const agent = openSender({
      queue,
      role: 'enqueue',
      settings: { applications: { 'shop-1': { name: 'shop', environment: 'test' } } },
    });
    openSender({
      queue,
      role: 'deliver',
      goneConfirmMs: 0,
      maintenanceIntervalMs: 5,
      settings: () => ({ name: 'shop', environment: 'test', url, secret: SECRET }),
    });
    const isClosed = async (): Promise<boolean> =>
      (await agent.stats()).applications.get('shop-1')?.tier === 'closed';
    await agent.send([message('m-0')]);
    await vi.waitUntil(isClosed, PATIENCE.timeoutMs);
    expect((await agent.send([message('skipped')])).accepted).toEqual([]);
    url = next.url;
    await vi.waitUntil(async () => !(await isClosed()), PATIENCE.timeoutMs);
    expect((await agent.send([message('m-1')])).accepted).toEqual(['m-1']);
    await next.waitForRequests(1, PATIENCE);
    expect(batches(next)).toEqual([['m-1']]);
  });
});

describe('dead letters', () => {
  test('are listed in pages, replayed under their ids with retry_count going on, and purged', async () => {
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
    await receiver.waitForRequests(2, PATIENCE);
    expect(receiver.requests[1]).toMatchObject({ messageIds: ['m-0'], retryCounts: [1] });
    expect(await sender.purge({ applicationId: 'other' })).toBe(0);
    expect((await sender.stats()).discarded).toEqual({ purged: 1 });
  });

  test.each([0, 1001, 1.5, '3'])('refuse a page of %j', async (limit) => {
    const sender = openSender({ url: 'https://receiver.example', secret: SECRET });
    const error = await rejection(sender.deadLetters({ limit: limit as number }));
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION', path: ['limit'] });
  });
});

describe('sendTest', () => {
  test('really sends one test message, past the queue', async () => {
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

  test('rejects where there is no URL and secret', async () => {
    const sender = openSender({
      settings: { applications: { 'shop-1': { name: 'shop', environment: 'test' } } },
    });
    for (const id of ['shop-1', 'shop-2']) {
      const error = await rejection(sender.sendTest(id));
      expect(error).toMatchObject({
        code: 'ERR_UNKNOWN_APPLICATION',
        path: ['applicationId'],
        message: expect.stringContaining('the settings have no URL and secret for it'),
      });
    }
  });

  test('asks for the settings once, and sends what these say', async () => {
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

  test('names an application without a name by its id', async () => {
    const receiver = await openReceiver();
    const sender = openSender({
      settings: { applications: { 'shop-1': { url: receiver.url, secret: SECRET } } },
    });
    expect(await sender.sendTest('shop-1')).toMatchObject({ ok: true });
    expect(receiver.requests[0]?.messages).toMatchObject([
      { message: { application_name: 'shop-1', environment: '' } },
    ]);
  });

  test('does not wait for ever for settings that are not answered', async () => {
    const { sender, clock } = startEngine({
      where: { settings: () => new Promise<never>(() => {}) },
    });
    const error = await clock.runUntilSettled(rejection(sender.sendTest('shop-1')), 10_000);
    expect(error).toMatchObject({ code: 'ERR_UNKNOWN_APPLICATION' });
  });
});
