import { expect, test } from 'vitest';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { deferred } from '../../src/runtime/deferred.ts';
import { nextTurn } from '../../src/runtime/yield-to-event-loop.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { ENGINE_SHOP, openEngine, startEngineOn } from '../helpers/fake-engine.ts';
import { wrapQueue } from '../helpers/queues.ts';
import { message, messages } from '../helpers/sender.ts';

const onDue = () => () => {};

test('the scheduler claims again when a request ends and frees a slot, even if the queue notifies nobody', async () => {
  const { sender, clock, poster } = startEngineOn(() => ({ onDue }), {
    destination: { settings: () => ENGINE_SHOP },
    options: { maxActiveRequests: 1 },
  });
  await sender.send(['shop-1', 'shop-2', 'shop-3'].map((id) => message(id, id)));
  // The scheduler looks into a silent queue twice a minute.
  await clock.advance(30_000);
  expect(poster.posts.map(({ atMs }) => atMs)).toEqual([30_000, 30_000, 30_000]);
});

test('the scheduler waits while no message is due', async () => {
  let claims = 0;
  const { clock } = startEngineOn((queue) => ({
    claim: (request) => {
      claims += 1;
      return queue.claim(request);
    },
  }));
  await clock.advance(0);
  for (let turns = 0; turns < 20; turns += 1) await nextTurn();
  expect(claims).toBe(1);
});

test.each([
  [false, { operation: 'claim', retryInMs: 100 }],
  [true, { operation: 'claim' }],
])(
  'a failed claim has the time of the next one unless the sender closes: %s',
  async (closes, event) => {
    const fails: ((error: Error) => void)[] = [];
    const claim = () => new Promise<never>((_, reject) => fails.push(reject));
    const { sender, clock, published } = startEngineOn(() => ({ claim }));
    await clock.advance(0);
    const closed = closes && sender.close({ deadlineMs: 0 });
    await clock.advance(1);
    fails.shift()?.(new Error('no disk'));
    await clock.advance(1);
    expect(published).toContainEqual(['queue-failed', event]);
    fails.shift()?.(new Error('no disk'));
    await closed;
  },
);

test('the scheduler delivers a claim while another call does not answer', async () => {
  const clock = createFakeClock();
  const memory = createMemoryQueue({}, clock);
  let calls = 0;
  const queue = wrapQueue(memory, {
    claim: (request) => {
      calls += 1;
      return calls === 3 ? new Promise(() => {}) : memory.claim(request);
    },
  });
  let posts = 0;
  const post = async () => {
    posts += 1;
    const timings = { totalMs: 0 };
    return { kind: 'response', status: 200, retryAfter: undefined, timings } as const;
  };
  const sender = openEngine({ settings: () => ENGINE_SHOP, queue }, { clock, post });
  await sender.send(['a', 'b', 'c'].map((id) => message(id, id)));
  await clock.advance(0);
  expect(posts).toBe(2);
});

test('a drain waits for a claim that is under way', async () => {
  const answer = deferred();
  let isSlow = false;
  const { sender, clock } = startEngineOn((queue) => ({
    onDue,
    claim: async (request) => {
      if (isSlow) await answer.promise;
      return await queue.claim(request);
    },
  }));
  await clock.advance(0);
  isSlow = true;
  await sender.send(messages(1));
  await clock.advance(30_000);
  const closing = sender.close();
  await clock.advance(0);
  answer.resolve();
  expect(await clock.runUntilSettled(closing)).toMatchObject({ delivered: 1, returned: [] });
});

test('the scheduler waits longer after each failed claim in a row', async () => {
  const { clock, published } = startEngineOn(() => ({
    claim: () => Promise.reject(new Error('no disk')),
  }));
  await clock.advance(5600);
  const waits = published.map(([, { retryInMs }]) => retryInMs);
  expect(waits).toEqual([100, 500, 2000, 3000, 3000]);
});
