import { describe, expect, test } from 'vitest';
import { deferred } from '../../src/runtime/deferred.ts';
import {
  applicationsOf,
  GENEROUS_TIMEOUT,
  ids,
  message,
  messages,
  NONE,
  openReceiver,
  openSender,
  SECRET,
  senderTo,
} from '../helpers/sender.ts';

const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** What has become of a promise by now. */
const stateOf = async (promise: Promise<unknown>): Promise<string> =>
  await Promise.race([promise.then(() => 'settled'), nextTurn().then(() => 'pending')]);

describe('flush', () => {
  test('resolves at once when nothing is pending', async () => {
    const receiver = await openReceiver();
    const sender = senderTo(receiver);
    expect(await sender.flush()).toEqual(NONE);
    await sender.send(messages(1));
    expect(await sender.flush()).toEqual({ ...NONE, delivered: 1 });
    expect(await sender.flush()).toEqual(NONE);
    expect(receiver.requests).toHaveLength(1);
  });

  test('is one promise for calls between which nothing was accepted', () => {
    const sender = openSender({ url: 'https://receiver.example', secret: SECRET });
    const first = sender.flush();
    expect(sender.flush({})).toBe(first);
  });

  test('waits for the messages of calls that were not awaited', async () => {
    const receiver = await openReceiver();
    const sender = openSender({
      settings: async () => {
        await nextTurn();
        return { name: 'shop', environment: 'test', url: receiver.url, secret: SECRET };
      },
    });
    for (const id of ids(3)) void sender.send([message(id)]);
    expect(await sender.flush()).toEqual({ ...NONE, delivered: 3 });
    expect(receiver.acceptedCounts()).toEqual(new Map(ids(3).map((id) => [id, 1])));
  });

  test('counts the messages of calls that look up settings when its deadline ends it', async () => {
    const sender = openSender({ settings: () => new Promise<never>(() => {}) });
    const sending = sender.send(messages(3)).catch((error: unknown) => error);
    expect(await sender.flush({ deadlineMs: 0 })).toMatchObject({ pending: 3 });
    const flushed = sender.flush({ deadlineMs: 20 });
    const later = sender.send(messages(2)).catch((error: unknown) => error);
    expect(await flushed).toMatchObject({ pending: 3 });
    await sender.close({ deadlineMs: 0 });
    await Promise.all([sending, later]);
    expect(await sender.flush()).toMatchObject({ pending: 0 });
  });

  test('waits for calls that began before it, but not for the messages of later ones', async () => {
    const receiver = await openReceiver();
    const hanging = await openReceiver({ otherwise: { fault: 'hang' } });
    const slow = deferred();
    const settings = applicationsOf({ slow: receiver, hanging });
    const sender = openSender({
      settings: async (id) => {
        if (id === 'slow') await slow.promise;
        return settings.applications[id as keyof typeof settings.applications];
      },
    });
    const earlier = sender.send([message('m-0', 'slow')]);
    const flushing = sender.flush();
    await sender.send([message('m-1', 'hanging')]);
    slow.resolve();
    await earlier;
    expect(await flushing).toEqual({ ...NONE, delivered: 1 });
  });

  test('also counts messages that are delivered while it waits for calls', async () => {
    const receiver = await openReceiver();
    const slow = deferred();
    const { applications } = applicationsOf({ slow: receiver, fast: receiver });
    const sender = openSender({
      settings: async (id) => {
        if (id === 'slow') await slow.promise;
        return applications[id as keyof typeof applications];
      },
    });
    const sending = sender.send([message('m-0', 'slow')]);
    await sender.send([message('m-1', 'fast')]);
    const flushing = sender.flush();
    while ((await sender.stats()).pending > 0) await nextTurn();
    slow.resolve();
    await sending;
    expect(await flushing).toEqual({ ...NONE, delivered: 2 });
  });

  test('is ended by its signal, and then says how many are pending', async () => {
    const healthy = await openReceiver();
    const hanging = await openReceiver({ otherwise: { fault: 'hang' } });
    const sender = openSender({ settings: applicationsOf({ healthy, hanging }) });
    await sender.send([message('m-0', 'healthy')]);
    await sender.flush();
    await sender.send([...messages(2, 'hanging'), message('m-1', 'healthy')]);
    const stop = new AbortController();
    const flushing = sender.flush({ signal: stop.signal });
    const endless = sender.flush();
    await healthy.waitForRequests(2, GENEROUS_TIMEOUT);
    while ((await sender.stats()).pending > 2) await nextTurn();
    stop.abort();
    const { failures, ...counts } = await flushing;
    expect(counts).toEqual({ ...NONE, delivered: 1, pending: 2 });
    expect(failures).toMatchObject([{ applicationId: 'hanging', failure: 'deadline' }]);
    expect(await stateOf(endless)).toBe('pending');
  });
});
