import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeSender } from '../../src/delivery/create-sender.ts';
import type { DeliveryOptions } from '../../src/delivery/options.ts';
import { limitRate, maxMessagesAtOnce } from '../../src/delivery/rate-limit.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { createFakeClock, createSeededRandom } from '../../src/testing/index.ts';
import { message, openReceiver, openSender, rejection, SECRET } from '../helpers/sender.ts';
import { mostBeyond, type Sent } from './measured-rate.ts';

interface Limits {
  readonly maxRequestsPerSecond?: number;
  readonly maxMessagesPerSecond?: number;
}

/** Two senders that share a queue, as two processes do; each request takes `postMs`. */
function twoSenders(limits: Limits | (() => Limits), options: DeliveryOptions = {}, postMs = 20) {
  const clock = createFakeClock();
  const shared = createMemoryQueue({}, clock);
  const sent: Sent[] = [];
  const shop = { name: 'shop', environment: 'test', url: 'https://one.example/', secret: SECRET };
  const settings = () => ({ ...shop, ...(typeof limits === 'function' ? limits() : limits) });
  const open = (queue: MessageQueue) =>
    makeSender(
      { settings, queue, ...options },
      {
        clock,
        random: createSeededRandom(1),
        newId: () => 'sender',
        createPoster: () => ({
          post: async ({ body }) => {
            const { length: count } = JSON.parse(body.toString()) as unknown[];
            sent.push({ atMs: clock.monotonicMs(), count });
            await clock.sleep(postMs);
            const timings = { totalMs: postMs };
            return { kind: 'response', status: 200, retryAfter: undefined, timings };
          },
          close: async () => {},
        }),
        maxOpenFiles: Number.POSITIVE_INFINITY,
      },
    );
  const first = open(shared);
  const second = open(
    new Proxy(shared, {
      get: (target, name) => {
        if (name === 'open')
          return async () => ({ pendingMessages: 0, dueMessages: 0, lastSequence: 0 });
        if (name === 'close') return async () => ({ returned: [], left: 0 });
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }),
  );
  onTestFinished(async () => {
    await clock.runUntilSettled(second.close({ deadlineMs: 0 }));
    await clock.runUntilSettled(first.close({ deadlineMs: 0 }));
  });
  return { clock, first, second, sent };
}

const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => message(`m-${from + index}`));

describe('a rate limit', () => {
  test.each([0.5, 3, 40])(
    'of %d requests per second holds for two senders that share a queue',
    async (rate) => {
      const limits = { maxRequestsPerSecond: rate };
      const { clock, first, second, sent } = twoSenders(limits, { maxMessages: 1 });
      const seconds = 60;
      await first.send(many(rate * seconds));
      await second.send(many(rate * seconds, rate * seconds));
      await clock.advance(seconds * 1000);
      const requests = sent.map(({ atMs }) => ({ atMs, count: 1 }));
      expect(mostBeyond(requests, rate)).toBeLessThanOrEqual(1 + 1e-6);
      expect(sent.length).toBeGreaterThanOrEqual(0.9 * rate * seconds);
    },
  );

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
      700,
    );
    await first.send(many(30));
    await clock.advance(2500);
    expect(sent.map(({ atMs, count }) => [atMs - (sent[0]?.atMs ?? 0), count])).toEqual([
      [0, 10],
      [1000, 10],
      [2000, 10],
    ]);
  });

  test('leaves the state as it is without limits, and never shortens a pause', () => {
    const state = {
      tier: 'healthy',
      maxMessages: 9,
      maxBytes: 9,
      circuitBreaker: null,
      pauseMs: 500,
    } as const;
    expect(limitRate(state, {}, { messageCount: 5, elapsedMs: 0 })).toBe(state);
    fc.assert(
      fc.property(
        fc.double({ min: 0.001, max: 1e6, noNaN: true }),
        fc.integer({ min: 1, max: 1000 }),
        fc.nat(5000),
        (rate, messageCount, elapsedMs) => {
          const limit = { maxMessagesPerSecond: rate };
          const limited = limitRate(state, limit, { messageCount, elapsedMs });
          expect(limited.pauseMs).toBeGreaterThanOrEqual(500);
          expect(limited.pauseMs + elapsedMs).toBeGreaterThanOrEqual(
            (messageCount / rate) * 1000 * (1 - 1e-12),
          );
          expect(limited.maxMessages).toBe(Math.min(9, maxMessagesAtOnce(limit)));
          expect(limited.maxMessages).toBeGreaterThanOrEqual(1);
        },
      ),
    );
  });

  test.each([0, -1, 0.0001, 1e7, Number.NaN, Number.POSITIVE_INFINITY, '5', null])(
    'of %j is refused',
    (rate) => {
      for (const name of ['maxRequestsPerSecond', 'maxMessagesPerSecond']) {
        const options = { url: 'https://one.example/', secret: SECRET, [name]: rate };
        expect(() => openSender(options)).toThrow(
          expect.objectContaining({
            code: 'ERR_INVALID_OPTION',
            issues: [expect.objectContaining({ path: [name] })],
          }),
        );
      }
    },
  );
});

describe('a destination with `enabled: false`', () => {
  test('gets nothing; its messages are accepted and wait', async () => {
    const receiver = await openReceiver();
    let enabled = false;
    const settings = () => ({
      name: 'shop',
      environment: 'test',
      url: receiver.url,
      secret: SECRET,
      enabled,
    });
    const sender = openSender({ settings, schedule: { delaysMs: [5] }, minProbeWaitMs: 5 });
    expect((await sender.send(many(2))).accepted).toEqual(['m-0', 'm-1']);
    const waiting = await sender.flush({ deadlineMs: 100 });
    expect(waiting).toMatchObject({
      pending: 2,
      failures: [{ applicationId: 'shop-1', because: 'disabled' }],
    });
    expect(receiver.requests).toEqual([]);
    expect(await rejection(sender.sendTest('shop-1'))).toMatchObject({
      code: 'ERR_UNKNOWN_APPLICATION',
    });
    enabled = true;
    expect(await sender.flush()).toMatchObject({ delivered: 2, pending: 0 });
  });

  test('is not asked for its secret', async () => {
    let asked = 0;
    const secret = () => {
      asked += 1;
      return SECRET;
    };
    const shop = {
      name: 'shop',
      environment: 'test',
      url: 'https://one.example/',
      secret,
      enabled: false,
    };
    const sender = openSender({ settings: { applications: { 'shop-1': shop } } });
    await sender.send(many(1));
    await sender.flush({ deadlineMs: 50 });
    expect(asked).toBe(0);
  });
});
