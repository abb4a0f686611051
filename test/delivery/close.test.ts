import { describe, expect, test, vi } from 'vitest';
import type { QueuedMessage } from '../../src/index.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { deferred } from '../../src/runtime/deferred.ts';
import { ENGINE_SHOP, startEngine, startEngineOn } from '../helpers/fake-engine.ts';
import { wrapQueue } from '../helpers/queues.ts';
import {
  batches,
  GENEROUS_TIMEOUT,
  ids,
  listen,
  message,
  messages,
  NONE,
  openReceiver,
  openSender,
  rejection,
  SECRET,
  senderTo,
} from '../helpers/sender.ts';

const NEVER = { schedule: { delaysMs: [600_000] } } as const;

/** The report of a sender that had nothing to do. */
const EMPTY = { delivered: 0, dead: 0, discarded: 0, returned: [], remaining: 0 };

const idsOf = (kept: readonly QueuedMessage[]): string[] =>
  kept.map(({ message_id }) => message_id);

describe('close', () => {
  test('delivers what can be delivered, reports it, and has nothing left', async () => {
    const receiver = await openReceiver({ script: [{ status: 500 }] });
    const sender = senderTo(receiver, { schedule: { delaysMs: [1] } });
    void sender.send(messages(3));
    expect(await sender.close()).toEqual({ ...EMPTY, delivered: 3 });
    expect(batches(receiver)).toEqual([ids(3), ids(3)]);
  });

  test('returns the promise of the first call to later calls with other options', async () => {
    const sender = openSender({ url: 'https://receiver.example', secret: SECRET });
    const first = sender.close();
    expect(sender.close({ deadlineMs: 1 })).toBe(first);
    const report = await first;
    expect(await sender.close()).toBe(report);
    expect(report).toEqual(EMPTY);
  });

  test('does not wait for a retry that is due after its deadline', async () => {
    const published = listen();
    const receiver = await openReceiver({ otherwise: { status: 500 } });
    const sender = senderTo(receiver, NEVER);
    await sender.send(messages(2));
    await published.until('attempt-settled');
    const { returned, discarded } = await sender.close({ deadlineMs: 590_000 });
    expect(idsOf(returned)).toEqual(ids(2));
    expect(returned.map(({ sends }) => sends)).toEqual([1, 1]);
    expect(discarded).toBe(2);
    expect(receiver.requests).toHaveLength(1);
  });

  test('lets nothing in any more: each call is refused, and send hands back its messages', async () => {
    const sender = openSender({ url: 'https://receiver.example', secret: SECRET });
    const closing = sender.close();
    const given = messages(2);
    const closed = { code: 'ERR_SENDER_CLOSED' };
    expect(await rejection(sender.send(given))).toMatchObject({ ...closed, input: given });
    await closing;
    expect(await rejection(sender.send(given))).toMatchObject({ ...closed, input: given });
    expect(await rejection(sender.sendTest('shop-1'))).toMatchObject(closed);
    expect(await rejection(sender.replay())).toMatchObject(closed);
    expect(await rejection(sender.purge())).toMatchObject(closed);
    expect(await rejection(sender.reopen('shop-1'))).toMatchObject(closed);
    expect(await sender.flush()).toEqual(NONE);
  });

  test('is what the end of a block does with `await using`', async () => {
    const receiver = await openReceiver();
    let sender: ReturnType<typeof senderTo>;
    {
      await using inBlock = senderTo(receiver);
      sender = inBlock;
      await inBlock.send(messages(2));
    }
    expect(batches(receiver)).toEqual([ids(2)]);
    expect(await rejection(sender.send(messages(1)))).toMatchObject({ code: 'ERR_SENDER_CLOSED' });
  });

  test('of a durable queue reports how many messages are left, and ends every flush', async () => {
    const memory = createMemoryQueue();
    const durable = wrapQueue(memory, {
      durability: 'server',
      close: async () => ({ returned: [], remaining: (await memory.stats()).pending }),
    });
    const published = listen();
    const receiver = await openReceiver({ otherwise: { fault: 'hang' } });
    const sender = senderTo(receiver, { queue: durable });
    await sender.send(messages(3));
    const flushing = sender.flush();
    await receiver.waitForRequests(1, GENEROUS_TIMEOUT);
    const startedAt = performance.now();
    const report = await sender.close({ deadlineMs: 0 });
    // Far below the 10 s for which an attempt in flight would be awaited.
    expect(performance.now() - startedAt).toBeLessThan(8000);
    const { failures } = report;
    expect(failures).toMatchObject([{ applicationId: 'shop-1', failure: 'aborted' }]);
    expect(report).toEqual({ ...EMPTY, remaining: 3, failures });
    expect(published.of('attempt-settled')).toMatchObject([{ failure: 'aborted' }]);
    const three = { ...NONE, pending: 3, failures };
    expect(await flushing).toEqual(three);
    // Nobody delivers them here any more: there is nothing to wait for, with or without a signal.
    expect(await sender.flush()).toEqual(three);
    expect(await sender.flush({ signal: new AbortController().signal })).toEqual(three);
  });

  test('refuses a call that goes on past its deadline like one that comes later', async () => {
    const { promise: asked, resolve: answer } = deferred();
    const sender = openSender({
      settings: async () => {
        await asked;
        return { name: 'shop', environment: 'test', url: 'https://a.example', secret: SECRET };
      },
    });
    const given = messages(2);
    const sending = rejection(sender.send(given));
    await sender.close({ deadlineMs: 0 });
    answer();
    expect(await sending).toMatchObject({ code: 'ERR_SENDER_CLOSED', input: given });
  });

  test('counts what is settled while it waits for a call, and what that call brings', async () => {
    const { promise: asked, resolve: answer } = deferred();
    const { sender, clock, published } = startEngine({
      destination: {
        settings: async (id: string) => {
          if (id === 'slow') await asked;
          return ENGINE_SHOP;
        },
      },
    });
    await sender.send([message('m-0')]);
    void sender.send([message('m-1', 'slow')]);
    const closing = sender.close();
    await clock.advance(0);
    expect(published.filter(([name]) => name === 'attempt-settled')).toHaveLength(1);
    answer();
    expect(await clock.runUntilSettled(closing)).toEqual({ ...EMPTY, delivered: 2 });
  });

  test('keeps its deadline while settings and secret are not answered', async () => {
    const never = new Promise<never>(() => {});
    const asked: string[] = [];
    const sender = openSender({
      settings: (id) => {
        asked.push(id);
        if (asked.length > 1) return never;
        return { name: 'shop', environment: 'test', url: 'https://a.example', secret: SECRET };
      },
    });
    await sender.send(messages(2));
    void rejection(sender.send([message('late')]));
    await vi.waitUntil(() => asked.length >= 3, GENEROUS_TIMEOUT.timeoutMs);
    const startedAt = performance.now();
    const { returned } = await sender.close({ deadlineMs: 50 });
    expect(idsOf(returned)).toEqual(ids(2));
    expect(returned.map(({ sends }) => sends)).toEqual([0, 0]);
    // Far below what an answer is waited for otherwise.
    expect(performance.now() - startedAt).toBeLessThan(8000);
  });

  // The queue says whether a failing destination was reopened during the request.
  test('counts a request as sent while the queue does not answer', async () => {
    const never = new Promise<never>(() => {});
    const { sender, clock, poster } = startEngineOn(() => ({ applicationState: () => never }), {
      steps: [500],
      options: { schedule: { delaysMs: [10, 600_000] } },
    });
    await sender.send(messages(1));
    await clock.advance(100);
    expect(poster.posts).toHaveLength(2);
    const { returned } = await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
    expect(returned.map(({ sends }) => sends)).toEqual([2]);
  });
});
