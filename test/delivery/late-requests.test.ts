import { expect, test } from 'vitest';
import { sign } from '../../src/webhook/signature.ts';
import {
  ENGINE_SECRET,
  ENGINE_SHOP,
  ENGINE_URL,
  startEngine,
  startEngineOn,
} from '../helpers/fake-engine.ts';
import { message, messages, NONE } from '../helpers/sender.ts';

test('settings that are not answered hold up no other destination for longer than its patience (D75)', async () => {
  let asked = 0;
  const { sender, clock, published } = startEngine({
    destination: {
      settings: (id: string) => {
        if (id === 'hanging') asked += 1;
        return asked > 1 && id === 'hanging' ? new Promise<never>(() => {}) : ENGINE_SHOP;
      },
    },
    options: { maxActiveRequests: 1, lateAfterMs: 2000 },
  });
  await sender.send([message('m-0', 'hanging')]);
  await clock.advance(0);
  await sender.send([message('m-1', 'healthy')]);
  expect((await sender.stats()).inFlight).toEqual({ active: 1, waiting: 0 });
  await clock.advance(1999);
  expect(published.filter(([name]) => name === 'attempt-started')).toEqual([]);
  await clock.advance(1);
  expect(published.filter(([name]) => name === 'attempt-settled')).toMatchObject([
    ['attempt-settled', { applicationId: 'healthy', outcome: 'delivered' }],
  ]);
  expect((await sender.stats()).inFlight).toEqual({ active: 0, waiting: 1 });
});

test('the wait for a rate limit is taken of the lease', async () => {
  const extended: number[] = [];
  const { sender, clock } = startEngineOn(
    (queue) => ({
      extend: (claim, ms) => {
        extended.push(ms);
        return queue.extend(claim, ms);
      },
    }),
    {
      options: { maxMessages: 1, leaseMs: 20_005 },
      destination: { url: ENGINE_URL, secret: ENGINE_SECRET, maxRequestsPerSecond: 1 },
    },
  );
  await sender.send(messages(2));
  expect(await clock.runUntilSettled(sender.flush())).toEqual({ ...NONE, delivered: 2 });
  expect(extended).toEqual([20_005]);
});

test('a request that waits long for a rate limit gives up its slot', async () => {
  const { sender, clock, poster } = startEngineOn(
    (queue) => ({
      settle: (claim, results, state) => queue.settle(claim, results, { ...state, pauseMs: 0 }),
    }),
    {
      destination: {
        settings: (id: string) => ({
          ...ENGINE_SHOP,
          ...(id === 'a' ? { maxRequestsPerSecond: 2 } : {}),
        }),
      },
      options: { maxActiveRequests: 1, maxMessages: 1 },
    },
  );
  await sender.send([message('m-0', 'a'), message('m-1', 'a')]);
  await clock.advance(10);
  await sender.send([message('m-2', 'b')]);
  await clock.advance(100);
  expect(poster.posts.map(({ messages: sent }) => sent[0]?.['message_id'])).toEqual(['m-0', 'm-2']);
  await clock.advance(400);
  expect(poster.posts.map(({ atMs }) => atMs).at(-1)).toBe(500);
});

const PARTS = { name: 'shop', environment: 'test', maxRequestsPerSecond: 2 };
const OLD = { ...PARTS, url: 'https://one.example/', secret: 'the old secret' };
const NEW = { ...PARTS, url: 'https://one.example/new', secret: 'the new secret' };

test('a request that waited for its rate limit uses the settings of the time when it is sent', async () => {
  let shop: typeof OLD | typeof NEW = OLD;
  const { sender, clock, poster } = startEngine({
    destination: { settings: () => shop },
    options: { maxMessages: 1 },
  });
  await sender.send([message('m-1'), message('m-2')]);
  // The second request is claimed early, and waits for its turn at 500 ms.
  await clock.advance(495);
  expect(poster.posts).toHaveLength(1);
  shop = NEW;
  await clock.advance(5);
  const { request, atMs } = poster.posts[1] ?? {};
  expect(atMs).toBe(500);
  expect(String(request?.url)).toBe(NEW.url);
  expect(request?.headers['X-Svc-Integrity']).toBe(sign(request?.body as Buffer, NEW.secret));
});
