import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CircuitBreaker,
  initialState,
  newCircuitBreaker,
} from '../../src/delivery/circuit-breaker.ts';
import type { DeliveryOptions } from '../../src/delivery/options.ts';
import { limitRate, maxMessagesAtOnce, RateLimits } from '../../src/delivery/rate-limit.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import type { Poster } from '../../src/webhook/http/client.ts';
import { openEngine } from '../helpers/fake-engine.ts';
import { POLICY, wrapQueue } from '../helpers/queues.ts';
import { createSeededRandom } from '../helpers/seeded-random.ts';
import { message, SECRET } from '../helpers/sender.ts';
import { type Limits, mostBeyond, type Sent } from './measured-rate.ts';

interface Times {
  readonly postMs?: number;
  /** How long the queue takes to read a call, and to answer one. */
  readonly callMs?: number;
  /** The answers of the receiver, in order; the last one repeats. Default 200. */
  readonly statuses?: readonly number[];
}

/** A sender that closes, or stands for a process that died, leaves the queue to the other. */
const close = async () => ({ returned: [], remaining: 0 });

/** Two senders that share a queue, as two processes do. */
function twoSenders(
  limits: Limits | (() => Limits),
  options: DeliveryOptions = {},
  { postMs = 20, callMs = 0, statuses = [200] }: Times = {},
) {
  const clock = createFakeClock();
  const shared = createMemoryQueue({}, clock);
  const sent: Sent[] = [];
  const shop = { name: 'shop', environment: 'test', url: 'https://one.example/', secret: SECRET };
  const settings = () => ({ ...shop, ...(typeof limits === 'function' ? limits() : limits) });
  const post: Poster['post'] = async ({ body }) => {
    const { length: count } = JSON.parse(body.toString()) as unknown[];
    const status = statuses[Math.min(sent.length, statuses.length - 1)] as number;
    sent.push({ atMs: clock.monotonicMs(), count });
    await clock.sleep(postMs);
    const timings = { totalMs: postMs };
    return { kind: 'response', status, retryAfter: undefined, timings };
  };
  const random = createSeededRandom(1);
  const slow = async <T>(call: () => Promise<T>): Promise<T> => {
    if (callMs === 0) return await call();
    await clock.sleep(callMs);
    const answer = await call();
    await clock.sleep(callMs);
    return answer;
  };
  const open = (queue: MessageQueue) =>
    openEngine(
      {
        settings,
        queue: wrapQueue(queue, {
          claim: (...given) => slow(() => queue.claim(...given)),
          settle: (...given) => slow(() => queue.settle(...given)),
        }),
        ...options,
      },
      { clock, post, random },
    );
  const first = open(wrapQueue(shared, { close }));
  const second = open(
    wrapQueue(shared, {
      open: async () => ({ pendingMessages: 0, dueMessages: 0, lastSequence: 0 }),
      close,
    }),
  );
  return { clock, first, second, sent };
}

const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => message(`m-${from + index}`));

const waitMs = (rate: number | undefined, nextRequestAt: number) => {
  const limit = rate === undefined ? {} : { maxRequestsPerSecond: rate };
  const next = { limit, nextRequestAt, queueMs: 0, monotonicMs: 0 };
  return new RateLimits().waitMs('shop-1', next);
};

describe('a rate limit', () => {
  test.each([
    [0.5, 60],
    [3, 60],
    [40, 20],
  ])(
    'of %d requests per second holds for two senders that share a queue',
    async (rate, seconds) => {
      const limits = { maxRequestsPerSecond: rate };
      const { clock, first, second, sent } = twoSenders(limits, { maxMessages: 1 });
      await first.send(many(rate * seconds));
      await second.send(many(rate * seconds, rate * seconds));
      await clock.advance(seconds * 1000);
      const requests = sent.map(({ atMs }) => ({ atMs, count: 1 }));
      expect(mostBeyond(requests, rate)).toBeLessThanOrEqual(1 + 1e-6);
      expect(sent.length).toBeGreaterThanOrEqual(0.9 * rate * seconds);
    },
  );

  // A call takes 4 ms, or 16 ms, a third of the interval.
  test.each([2, 8])('is nearly reached with a queue whose calls take 2 x %d ms', async (callMs) => {
    const limits = { maxRequestsPerSecond: 20 };
    const { clock, first, sent } = twoSenders(limits, { maxMessages: 1 }, { callMs, postMs: 5 });
    await first.send(many(400));
    await clock.advance(20_000);
    const requests = sent.map(({ atMs }) => ({ atMs, count: 1 }));
    expect(mostBeyond(requests, 20)).toBeLessThanOrEqual(1 + 1e-6);
    expect(sent.length).toBeGreaterThanOrEqual(0.9 * 20 * 20);
  });

  test.each([0.5, 7, 300])(
    'of %d messages per second holds, with requests of one second at most',
    async (rate) => {
      const { clock, first, second, sent } = twoSenders({ maxMessagesPerSecond: rate });
      await first.send(many(rate * 40));
      await second.send(many(rate * 40, rate * 40));
      await clock.advance(60_000);
      const most = Math.max(1, Math.floor(rate));
      expect(Math.max(...sent.map(({ count }) => count))).toBeLessThanOrEqual(most);
      expect(mostBeyond(sent, rate)).toBeLessThanOrEqual(most + 1e-6);
      const total = sent.reduce((sum, { count }) => sum + count, 0);
      expect(total).toBeGreaterThanOrEqual(0.9 * rate * 60);
    },
  );

  test('that is set while messages wait applies to the next request', async () => {
    let limits: Limits = {};
    const { clock, first, sent } = twoSenders(() => limits);
    await first.send(many(1));
    await clock.advance(1000);
    limits = { maxMessagesPerSecond: 2 };
    await first.send(many(6, 1));
    await clock.advance(1500);
    expect(sent.map(({ count }) => count)).toEqual([1, 2, 2]);
    limits = {};
    await clock.advance(1000);
    expect(sent.map(({ count }) => count)).toEqual([1, 2, 2, 2]);
  });

  test('counts from the beginning of a request that takes longer than its interval', async () => {
    const { clock, first, sent } = twoSenders(
      { maxRequestsPerSecond: 10, maxMessagesPerSecond: 10 },
      {},
      { postMs: 700 },
    );
    await first.send(many(30));
    await clock.advance(2500);
    expect(sent.map(({ atMs, count }) => [atMs - (sent[0]?.atMs ?? 0), count])).toEqual([
      [0, 10],
      [1000, 10],
      [2000, 10],
    ]);
  });

  // The last interval is longer than a lease.
  test.each<[string, 'first' | 'second', number]>([
    ['the process that sent the last request', 'first', 1],
    ['another process', 'second', 1],
    ['the process that sent the last request', 'first', 0.1],
    ['another process', 'second', 0.1],
    ['another process', 'second', 0.01],
  ])('is not restarted when %s reopens the destination (%s, %d)', async (_, by, rate) => {
    const limits = { maxRequestsPerSecond: rate };
    const options = { schedule: { delaysMs: [10] }, maxMessages: 1 };
    const senders = twoSenders(limits, options, { statuses: [500, 500, 200] });
    const { clock, first, second, sent } = senders;
    await first.send(many(3));
    await clock.advance(100);
    // Only the other process is left to make the next request.
    if (by === 'second') await clock.runUntilSettled(first.close({ deadlineMs: 0 }));
    await (by === 'second' ? second : first).reopen('shop-1');
    await clock.advance(2500 / rate);
    const [start = 0] = sent.map(({ atMs }) => atMs);
    expect(sent.map(({ atMs }) => atMs - start)).toEqual([0, 1000 / rate, 2000 / rate]);
  });

  test('is not restarted by a new URL', async () => {
    let url = 'https://old.example/';
    const limits = () => ({ maxRequestsPerSecond: 0.1, url });
    const { clock, first, second, sent } = twoSenders(limits, {}, { statuses: [410, 200] });
    await first.send(many(1));
    await clock.advance(100);
    url = 'https://new.example/';
    await clock.runUntilSettled(first.close({ deadlineMs: 0 }));
    await second.reopen('shop-1');
    await clock.advance(20_000);
    expect(sent.map(({ atMs }) => atMs - (sent[0]?.atMs ?? 0))).toEqual([0, 10_000]);
  });

  test('holds when the process that sent the last request has died', async () => {
    const limits = { maxRequestsPerSecond: 0.01 };
    const { clock, first, second, sent } = twoSenders(limits, {}, { postMs: 1e9 });
    await first.send(many(1));
    await clock.advance(100);
    await clock.runUntilSettled(first.close({ deadlineMs: 0 }));
    expect(await second.stats()).toMatchObject({ pending: 1 });
    await clock.advance(250_000);
    expect(sent).toHaveLength(2);
    expect((sent[1]?.atMs ?? 0) - (sent[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(100_000);
  });

  test('holds from the beginning of a request, for a second claim of the same process', () => {
    const limits = new RateLimits();
    const limit = { maxRequestsPerSecond: 2 };
    const next = { limit, nextRequestAt: null, queueMs: 1100, monotonicMs: 100 };
    expect(limits.waitMs('shop-1', next)).toBe(0);
    const begun = { limit, messageCount: 1, beganAt: 1100, sentAt: 100 };
    limits.recordRequest({ applicationId: 'shop-1', ...begun });
    expect(limits.waitMs('shop-1', next)).toBe(500);
    expect(limits.waitMs('shop-2', next)).toBe(0);
  });

  test('is not forgotten after requests to a thousand destinations without one', () => {
    const limits = new RateLimits();
    const limit = { maxRequestsPerSecond: 2 };
    const begun = { messageCount: 1, beganAt: 1100, sentAt: 100 };
    limits.recordRequest({ applicationId: 'limited', limit, ...begun });
    for (let index = 0; index < 1000; index += 1) {
      limits.recordRequest({ applicationId: `shop-${index}`, limit: {}, ...begun });
    }
    const next = { limit, nextRequestAt: null, queueMs: 1100, monotonicMs: 100 };
    expect(limits.waitMs('limited', next)).toBe(500);
  });

  test('ignores a time that is later than the limit allows', () => {
    expect([waitMs(1, 60_000), waitMs(1, 60_001)]).toEqual([60_000, 0]);
    expect([waitMs(0.01, 200_000), waitMs(0.01, 200_001)]).toEqual([200_000, 0]);
    expect([waitMs(undefined, 500), waitMs(undefined, 1e9)]).toEqual([500, 0]);
  });

  test('changes no state without a limit, and never shortens a pause', () => {
    const breaker = newCircuitBreaker('url', POLICY);
    const state = { ...initialState(POLICY), circuitBreaker: breaker, pauseMs: 500 };
    const last = { limit: {}, messageCount: 5, beganAt: 1000, elapsedMs: 0, roundTripMs: 0 };
    expect(limitRate(state, last)).toBe(state);
    fc.assert(
      fc.property(
        fc.double({ min: 0.001, max: 1e6, noNaN: true }),
        fc.integer({ min: 1, max: 1000 }),
        fc.nat(5000),
        (rate, messageCount, elapsedMs) => {
          const limit = { maxMessagesPerSecond: rate };
          const limited = limitRate(state, {
            limit,
            messageCount,
            beganAt: 1000,
            elapsedMs,
            roundTripMs: 0,
          });
          expect(limited.pauseMs).toBeGreaterThanOrEqual(500);
          const { nextRequestAt } = limited.circuitBreaker as CircuitBreaker;
          const intervalMs = (messageCount / rate) * 1000;
          expect(nextRequestAt).toBeCloseTo(1000 + intervalMs);
          const next = { limit, nextRequestAt, queueMs: 1000 + intervalMs, monotonicMs: 0 };
          expect(new RateLimits().waitMs('shop-1', next)).toBeLessThanOrEqual(1);
          expect(limited.maxMessages).toBe(Math.min(state.maxMessages, maxMessagesAtOnce(limit)));
          expect(limited.maxMessages).toBeGreaterThanOrEqual(1);
        },
      ),
    );
  });
});
