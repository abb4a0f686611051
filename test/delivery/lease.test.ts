/** Leases: an attempt must fit into what is left of one, and failing calls are repeated until its end. */
import { describe, expect, test } from 'vitest';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { Claim } from '../../src/queue/queue.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import type { Poster } from '../../src/webhook/http/client.ts';
import { ENGINE_SHOP, openEngine, startEngineOn } from '../helpers/fake-engine.ts';
import { createFailingQueue, wrapQueue } from '../helpers/queues.ts';
import { messages, NONE } from '../helpers/sender.ts';

const DEADLINE_MS = 20_000;

interface Slowness {
  readonly leaseMs: number;
  readonly settingsMs: number;
  readonly postMs: number;
  /** Rate limit of the destination. Default none. */
  readonly maxRequestsPerSecond?: number;
}

/** A sender whose settings, asked for the second time and later, and whose receiver take their time. */
function start({ leaseMs, settingsMs, postMs, ...limit }: Slowness) {
  const clock = createFakeClock();
  const failing = createFailingQueue(createMemoryQueue({}, clock));
  const extended: number[] = [];
  const queue = wrapQueue(failing.queue, {
    extend: (claim, ms) => {
      extended.push(ms);
      return failing.queue.extend(claim, ms);
    },
  });
  let asked = 0;
  const settings = async () => {
    asked += 1;
    if (asked > 1) await clock.sleep(settingsMs);
    return { ...ENGINE_SHOP, ...limit };
  };
  const posts: number[] = [];
  const post: Poster['post'] = async () => {
    posts.push(clock.monotonicMs());
    await clock.sleep(postMs);
    const timings = { totalMs: postMs };
    return { kind: 'response', status: 200, retryAfter: undefined, timings };
  };
  const sender = openEngine({ settings, queue, leaseMs, deadlineMs: DEADLINE_MS }, { clock, post });
  return { ...failing, clock, sender, extended, posts };
}

test.each([
  ['is extended if no more of it is left than an attempt may take', 20_001, 1, [20_001]],
  ['is extended, and what is delivered is settled, not sent again', 20_001, 9000, [20_001]],
  ['is left as it is where more is left of it', 20_002, 1, []],
  ['is long enough by default for settings that take almost as long as they may', 60_000, 9999, []],
] as const)('a lease %s', async (_title, leaseMs, settingsMs, extensions) => {
  const { clock, sender, posts, extended } = start({ leaseMs, settingsMs, postMs: 19_000 });
  await sender.send(messages(2));
  const flushed = await clock.runUntilSettled(sender.flush(), 120_000);
  expect(flushed).toEqual({ ...NONE, delivered: 2 });
  expect(posts).toHaveLength(1);
  expect(extended).toEqual(extensions);
  expect(await sender.stats()).toMatchObject({ delivered: 2, pending: 0, attempts: 1 });
});

test('a lease that the queue does not extend is over: nothing is sent under it', async () => {
  const { clock, sender, posts, fail } = start({ leaseMs: 20_001, settingsMs: 9000, postMs: 1000 });
  fail('extend', 6);
  const startedAt = clock.monotonicMs();
  await sender.send(messages(1));
  const flushed = await clock.runUntilSettled(sender.flush(), 240_000);
  expect(flushed).toEqual({ ...NONE, delivered: 1 });
  expect(posts).toHaveLength(1);
  // Asked five times within a lease: after 9 s, and 0.1, 0.5, 2, 5 and 10 s later.
  expect((posts[0] ?? 0) - startedAt).toBeGreaterThan(20_001);
});

test('a lease that has ended by the wall clock alone is extended before anything is sent', async () => {
  const { clock, sender, posts, extended } = start({ leaseMs: 60_000, settingsMs: 50, postMs: 1 });
  const answer = sender.send(messages(1));
  await clock.advance(20);
  // The machine slept, or its clock was set: the queue may have ended the lease.
  clock.setWallClock(clock.now() + 60_000);
  await answer;
  const flushed = await clock.runUntilSettled(sender.flush(), 120_000);
  expect(flushed).toEqual({ ...NONE, delivered: 1 });
  expect(posts).toHaveLength(1);
  expect(extended).toEqual([60_000]);
});

test('an extended lease counts from its extension: a lost answer of the queue is not a lost claim', async () => {
  const { clock, sender, posts, loseAnswer } = start({
    leaseMs: 20_001,
    settingsMs: 9000,
    postMs: 15_000,
  });
  loseAnswer('settle');
  await sender.send(messages(1));
  const flushed = await clock.runUntilSettled(sender.flush(), 60_000);
  expect(flushed).toEqual({ ...NONE, delivered: 1 });
  expect(posts).toHaveLength(1);
});

describe('a lease that was extended for a rate limit slower than the lease', () => {
  // One request in 200 s: the lease is extended to 400 s.
  const slow = { leaseMs: 20_001, settingsMs: 1, maxRequestsPerSecond: 0.005 };

  test('is used to its end: a settlement that fails longer than `leaseMs` is repeated', async () => {
    const { clock, sender, posts, extended, fail } = start({ ...slow, postMs: 1000 });
    // The ninth call is made 47.6 s after the first: 0.1, 0.5, 2 and 5 s later, then every 10 s.
    fail('settle', 8);
    await sender.send(messages(1));
    const flushed = await clock.runUntilSettled(sender.flush(), 60_000);
    expect(flushed).toEqual({ ...NONE, delivered: 1 });
    expect(extended).toEqual([400_000]);
    await clock.advance(600_000);
    expect(posts).toHaveLength(1);
    expect(await sender.stats()).toMatchObject({ delivered: 1, pending: 0, attempts: 1 });
  });

  test('holds after `leaseMs`: a lost answer of the queue is not a lost claim', async () => {
    const { clock, sender, posts, loseAnswer } = start({ ...slow, postMs: 20_000 });
    loseAnswer('settle');
    await sender.send(messages(1));
    const flushed = await clock.runUntilSettled(sender.flush(), 60_000);
    expect(flushed).toEqual({ ...NONE, delivered: 1 });
    expect(posts).toHaveLength(1);
  });
});

test.each([
  ['a rate limit', { maxRequestsPerSecond: 50 }, 0],
  ['its settings', {}, 100],
])(
  'a claim whose lease ends while it waits for %s is not sent if the same process claims again',
  async (_, limit, settingsMs) => {
    const claims: Claim[] = [];
    let settles = 0;
    const { sender, clock, poster } = startEngineOn(
      (queue, time) => {
        // Ends the lease of the second claim, as a jump of the queue's clock does.
        void time.sleep(15).then(() => queue.release(claims[1] as Claim));
        return {
          claim: async (request) => {
            const answer = await queue.claim(request);
            if ('id' in answer) claims.push(answer);
            return answer;
          },
          settle: (...given) => {
            settles += 1;
            return queue.settle(...given);
          },
        };
      },
      {
        destination: {
          settings: async () => {
            if (claims.length > 1) await clock.sleep(settingsMs);
            return { ...ENGINE_SHOP, ...limit };
          },
        },
        options: { maxMessages: 1 },
      },
    );
    await sender.send(messages(2));
    expect(await clock.runUntilSettled(sender.flush())).toEqual({ ...NONE, delivered: 2 });
    await clock.advance(1000);
    expect(claims).toHaveLength(3);
    expect(settles).toBe(2);
    const sent = poster.posts.map((post) => post.messages.map((one) => one['message_id']));
    expect(sent).toEqual([['m-0'], ['m-1']]);
  },
);

test('a failing settlement is repeated with rising delays, to the end of the lease', async () => {
  const claimIds: string[] = [];
  const calledAt: number[] = [];
  const { sender, clock, published } = startEngineOn(
    (_, time) => ({
      settle: ({ id }) => {
        claimIds.push(id);
        if (id === claimIds[0]) calledAt.push(time.monotonicMs());
        return Promise.reject(Object.assign(new Error('no server'), { code: 'ECONNREFUSED' }));
      },
    }),
    { options: { leaseMs: 56_600 } },
  );
  await sender.send(messages(1));
  await clock.advance(56_600);
  const [first = 0] = calledAt;
  expect(calledAt.map((atMs) => atMs - first)).toEqual([
    0,
    100,
    600,
    2600,
    ...Array.from({ length: 18 }, (_, index) => 5600 + index * 3000),
  ]);
  const failures = published.flatMap(([name, event]) => (name === 'queue-failed' ? [event] : []));
  expect(failures.map(({ retryInMs }) => retryInMs)).toEqual([
    100,
    500,
    2000,
    ...Array(18).fill(3000),
    // The messages are claimed and sent again, and their next settlement fails too. Then the first one is given up.
    100,
    undefined,
  ]);
  expect(failures[0]).toMatchObject({ operation: 'settle', errorCode: 'ECONNREFUSED' });
  await clock.advance(20_000);
  expect(calledAt).toHaveLength(22);
});
