import { expect, test } from 'vitest';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { deferred } from '../../src/runtime/deferred.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { ENGINE_SECRET, ENGINE_URL, openEngine, startEngine } from '../helpers/fake-engine.ts';
import { wrapQueue } from '../helpers/queues.ts';
import { createSeededRandom } from '../helpers/seeded-random.ts';
import { message, messages, NONE } from '../helpers/sender.ts';

const shop = { name: 'shop', environment: 'test', url: ENGINE_URL, secret: ENGINE_SECRET };

test('settings that are not answered hold up no other destination for longer than its patience (D75)', async () => {
  let asked = 0;
  const { sender, clock, published } = startEngine({
    destination: {
      settings: (id: string) => {
        if (id === 'hanging') asked += 1;
        return asked > 1 && id === 'hanging' ? new Promise<never>(() => {}) : shop;
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

// The first has its settings in time, and waits for its response.
test('requests whose settings came late are active again, no more than the limit at a time', async () => {
  const clock = createFakeClock();
  const answers: (() => void)[] = [];
  let isLate = false;
  let posts = 0;
  const settings = async (id: string) => {
    if (isLate && id !== 'a') await new Promise<void>((resolve) => answers.push(resolve));
    return shop;
  };
  const post = async () => {
    posts += 1;
    await clock.sleep(500);
    const timings = { totalMs: 500 };
    return { kind: 'response', status: 200, retryAfter: undefined, timings } as const;
  };
  const sender = openEngine(
    { settings, maxActiveRequests: 2, maxWaitingRequests: 8, lateAfterMs: 50 },
    { clock, post, random: createSeededRandom(1) },
  );
  await sender.send(['a', 'b', 'c', 'd', 'e'].map((id) => message(id, id)));
  isLate = true;
  await clock.advance(200);
  expect((await sender.stats()).inFlight).toEqual({ active: 0, waiting: 5 });
  for (const answer of answers.splice(0)) answer();
  await clock.advance(1);
  expect(posts).toBe(3);
  expect((await sender.stats()).inFlight).toEqual({ active: 2, waiting: 3 });
  await clock.advance(60);
  expect(posts).toBe(5);
  expect((await sender.stats()).inFlight).toEqual({ active: 2, waiting: 3 });
  await clock.advance(60);
  expect((await sender.stats()).inFlight).toEqual({ active: 0, waiting: 5 });
});

test('a request whose settings came late makes way for one to an untried destination', async () => {
  const clock = createFakeClock();
  const answer = deferred();
  let isLate = false;
  const settings = async (id: string) => {
    if (isLate && id === 'a') await answer.promise;
    return shop;
  };
  const posts: string[] = [];
  const post = async ({ body }: { readonly body: Buffer }) => {
    const [{ message_id: id }] = JSON.parse(body.toString()) as [{ message_id: string }];
    posts.push(id);
    await clock.sleep(500);
    const timings = { totalMs: 500 };
    return { kind: 'response', status: 200, retryAfter: undefined, timings } as const;
  };
  const sender = openEngine(
    { settings, maxActiveRequests: 2, maxWaitingRequests: 1, lateAfterMs: 50, deadlineMs: 1000 },
    { clock, post },
  );
  await sender.send([message('m-0', 'a')]);
  await clock.advance(1000);
  await sender.send([message('m-1', 'a')]);
  isLate = true;
  await clock.advance(60);
  await sender.send([message('m-2', 'b')]);
  await clock.advance(10);
  expect(posts).toEqual(['m-0']);
  answer.resolve();
  await clock.advance(1);
  expect(posts).toEqual(['m-0', 'm-1', 'm-2']);
});

test('the wait for a rate limit is taken of the lease', async () => {
  const extended: number[] = [];
  const { sender, clock } = startEngine({
    options: (time) => {
      const queue = createMemoryQueue({}, time);
      const extend: MessageQueue['extend'] = (claim, ms) => {
        extended.push(ms);
        return queue.extend(claim, ms);
      };
      return { queue: wrapQueue(queue, { extend }), maxMessages: 1, leaseMs: 20_005 };
    },
    destination: { url: ENGINE_URL, secret: ENGINE_SECRET, maxRequestsPerSecond: 1 },
  });
  await sender.send(messages(2));
  expect(await clock.runUntilSettled(sender.flush())).toEqual({ ...NONE, delivered: 2 });
  expect(extended).toEqual([20_005]);
});

test('a request that waits long for a rate limit gives up its slot', async () => {
  const clock = createFakeClock();
  const queue = createMemoryQueue({}, clock);
  const settle: MessageQueue['settle'] = (claim, results, state) =>
    queue.settle(claim, results, { ...state, pauseMs: 0 });
  const { sender, poster } = startEngine({
    clock,
    destination: {
      settings: (id: string) => ({ ...shop, ...(id === 'a' ? { maxRequestsPerSecond: 2 } : {}) }),
    },
    options: { queue: wrapQueue(queue, { settle }), maxActiveRequests: 1, maxMessages: 1 },
  });
  await sender.send([message('m-0', 'a'), message('m-1', 'a')]);
  await clock.advance(10);
  await sender.send([message('m-2', 'b')]);
  await clock.advance(100);
  expect(poster.posts.map(({ messages: sent }) => sent[0]?.['message_id'])).toEqual(['m-0', 'm-2']);
  await clock.advance(400);
  expect(poster.posts.map(({ atMs }) => atMs).at(-1)).toBe(500);
});
