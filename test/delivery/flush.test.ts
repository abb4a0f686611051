import { describe, expect, test } from 'vitest';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import {
  applicationsOf,
  batches,
  ids,
  listen,
  message,
  messages,
  openReceiver,
  openSender,
  PATIENCE,
  SECRET,
  senderTo,
} from '../helpers/sender.ts';

const NONE = { delivered: 0, dead: 0, discarded: 0, settledElsewhere: 0, pending: 0 } as const;
const NEVER = { schedule: { delaysMs: [600_000] } } as const;

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

  test('counts what was delivered and what died since the call', async () => {
    const receiver = await openReceiver({
      script: ({ messageIds }) => ({ status: messageIds.includes('m-1') ? 422 : 200 }),
    });
    const sender = senderTo(receiver, {
      schedule: { delaysMs: [1, 1] },
      cautiousMaxMessages: 1,
      maxMessages: 1,
    });
    await sender.send(messages(3));
    expect(await sender.flush()).toEqual({
      ...NONE,
      delivered: 2,
      dead: 1,
      failures: [{ applicationId: 'shop-1', status: 422 }],
    });
  });

  test('is one promise for calls between which nothing was accepted', async () => {
    const receiver = await openReceiver({ otherwise: { fault: 'hang' } });
    const sender = senderTo(receiver);
    await sender.send(messages(1));
    const first = sender.flush();
    expect(sender.flush()).toBe(first);
    expect(sender.flush({})).toBe(first);
    const sending = sender.send([message('m-1')]);
    expect(sender.flush()).not.toBe(first);
    await sending;
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
    expect(receiver.messageIds()).toEqual(new Map(ids(3).map((id) => [id, 1])));
  });

  test('does not wait for what is accepted after the call', async () => {
    const healthy = await openReceiver();
    const hanging = await openReceiver({ otherwise: { fault: 'hang' } });
    const sender = openSender({ settings: applicationsOf({ healthy, hanging }) });
    await sender.send([message('m-0', 'healthy')]);
    const flushing = sender.flush();
    await sender.send([message('m-1', 'hanging')]);
    expect(await flushing).toEqual({ ...NONE, delivered: 1 });
    expect((await sender.stats()).pending).toBe(1);
  });

  test('is not ended by what is accepted after the call and settled before', async () => {
    const hanging = await openReceiver({ otherwise: { fault: 'hang' } });
    const healthy = await openReceiver();
    const { applications } = applicationsOf({ hanging, healthy, first: healthy, second: healthy });
    const gates = new Map<string, () => void>();
    const sender = openSender({
      settings: async (id) => {
        if (id === 'first' || id === 'second') {
          await new Promise<void>((resolve) => {
            if (gates.has(id)) resolve();
            else gates.set(id, resolve);
          });
        }
        return applications[id];
      },
    });
    await sender.send([message('m-0', 'hanging')]);
    await hanging.waitForRequests(1, PATIENCE);
    // Is being accepted when flush is called …
    const early = sender.send([message('m-1', 'first')]);
    const flushing = sender.flush();
    // … and this one afterwards: its first message is read before the other call is over.
    const late = sender.send([message('m-2', 'healthy'), message('m-3', 'second')]);
    await nextTurn();
    gates.get('first')?.();
    await early;
    await healthy.waitForRequests(1, PATIENCE);
    gates.get('second')?.();
    await late;
    // All but the one that hangs are settled.
    while ((await sender.stats()).pending > 1) await nextTurn();
    expect(await stateOf(flushing)).toBe('pending');
    expect((await sender.stats()).pending).toBe(1);
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
    await healthy.waitForRequests(2, PATIENCE);
    while ((await sender.stats()).pending > 2) await nextTurn();
    stop.abort();
    expect(await flushing).toEqual({ ...NONE, delivered: 1, pending: 2 });
    expect(await stateOf(endless)).toBe('pending');
  });

  test('is over at once under a signal that is aborted, and at its end under one that is not', async () => {
    const receiver = await openReceiver({ script: [{ status: 500 }] });
    const sender = senderTo(receiver, { schedule: { delaysMs: [1] } });
    await sender.send(messages(2));
    expect(await sender.flush({ signal: AbortSignal.abort() })).toMatchObject({ pending: 2 });
    const { signal } = new AbortController();
    expect(await sender.flush({ signal })).toEqual({ ...NONE, delivered: 2 });
  });

  test('ends with the acknowledgement where another process delivers', async () => {
    const queue = createMemoryQueue();
    const settings = applicationsOf({ 'shop-1': { url: 'https://receiver.example' } });
    const sender = openSender({ queue, role: 'enqueue', settings });
    void sender.send(messages(3));
    expect(await sender.flush()).toMatchObject({ delivered: 0, dead: 0, discarded: 0 });
    expect((await sender.stats()).pending).toBe(3);
  });

  test('resolves when close hands back what it waits for', async () => {
    const told = listen();
    const receiver = await openReceiver({ otherwise: { status: 500 } });
    const sender = senderTo(receiver, NEVER);
    await sender.send(messages(2));
    await told.until('attempt-settled');
    const flushing = sender.flush();
    await sender.close();
    const failures = [{ applicationId: 'shop-1', status: 500 }];
    expect(await flushing).toEqual({ ...NONE, discarded: 2, failures });
    expect(batches(receiver)).toEqual([ids(2)]);
  });
});
