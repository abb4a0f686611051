/** Measures how fast two senders that share a durable queue send to one destination. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { makeSender } from '../../src/delivery/create-sender.ts';
import type { WebhookSender } from '../../src/index.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { newId } from '../../src/runtime/id.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { createPoster, type Poster } from '../../src/webhook/http/client.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { messages, openReceiver, SECRET } from '../helpers/sender.ts';

const SETTLED = 'security-event-delivery:attempt-settled';

/** Requests or messages that were sent at a time. */
export interface Sent {
  readonly atMs: number;
  readonly count: number;
}

/** Returns the most that was sent at any time beyond what a rate allows: the highest level of a leaky bucket. */
export function mostBeyond(sent: readonly Sent[], perSecond: number): number {
  let [level, most, beforeMs] = [0, 0, 0];
  for (const { atMs, count } of sent) {
    level = Math.max(0, level - (perSecond * (atMs - beforeMs)) / 1000) + count;
    most = Math.max(most, level);
    beforeMs = atMs;
  }
  return most;
}

export interface Limits {
  readonly maxRequestsPerSecond?: number;
  readonly maxMessagesPerSecond?: number;
}

/**
 * Opens a sender that adds each of its requests to `sent`, at the time that the sender read before it. From that time it
 * reckons when the next request may begin, so a machine that stalls later does not look like a breach.
 */
function openMeasured(options: object, sent: Sent[]): WebhookSender {
  let readMs: number | undefined;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => {
      readMs = systemClock.monotonicMs();
      // A time that was read before a wait does not count.
      queueMicrotask(() => {
        readMs = undefined;
      });
      return readMs;
    },
  };
  const measuring = (poster: Poster): Poster => ({
    post: (request) => {
      const { length: count } = JSON.parse(request.body.toString()) as unknown[];
      sent.push({ atMs: readMs ?? Number.NaN, count });
      return poster.post(request);
    },
    close: () => poster.close(),
  });
  const sender = makeSender(
    { network: 'allow-private', ...options },
    {
      clock,
      random: systemRandom,
      newId,
      createPoster: (given) => measuring(createPoster(given)),
      maxOpenFiles: Number.POSITIVE_INFINITY,
    },
  );
  onTestFinished(() => sender.close({ deadlineMs: 0 }).then(() => {}));
  return sender;
}

/** Lets two senders deliver for 3 s, each with a connection of its own. Returns their requests. */
async function sendFromTwo(
  openQueue: () => MessageQueue,
  limits: Limits,
  { maxMessages, isReopened = false }: { maxMessages: number; isReopened?: boolean },
): Promise<readonly Sent[]> {
  const { url } = await openReceiver(isReopened ? { otherwise: { status: 500 } } : {});
  const shop = { name: 'shop', environment: 'test', url, secret: SECRET, ...limits };
  const settings = { applications: { 'shop-1': shop } };
  const schedule = { delaysMs: [1], repeatLast: true };
  const options = { settings, maxMessages, schedule, openAfterFailures: 1_000_000 };
  const sent: Sent[] = [];
  const senders = [1, 2].map(() => openMeasured({ queue: openQueue(), ...options }, sent));
  await Promise.all(senders.map((sender) => sender.stats()));
  // Both senders reopen the destination after each request.
  const onSettled = (): void => {
    if (isReopened) void Promise.allSettled(senders.map((sender) => sender.reopen('shop-1')));
  };
  subscribe(SETTLED, onSettled);
  try {
    await Promise.all(senders.map((sender) => sender.send(messages(1000))));
    await wait(3000);
  } finally {
    unsubscribe(SETTLED, onSettled);
  }
  await Promise.all(senders.map((sender) => sender.close({ deadlineMs: 0 })));
  return sent;
}

/** Returns the usual rate: the median, since a busy machine holds up single requests. */
function usualPerSecond(sent: readonly Sent[]): number {
  const rates = sent
    .slice(1)
    .map(({ atMs }, index) => [sent[index] ?? { atMs, count: 0 }, atMs] as const)
    .map(([before, atMs]) => (before.count * 1000) / (atMs - before.atMs));
  return rates.toSorted((a, b) => a - b)[Math.floor(rates.length / 2)] ?? 0;
}

/** A busy machine makes every request late: the best of five quick runs has to reach the rate, and each run at night. */
const RUNS = quickOrNightly(5, 1);

/** Tests that rate limits hold for two senders in every run, and that they are nearly reached while messages wait. */
export function testRateLimits(openStore: () => () => MessageQueue): void {
  test.each<[Limits, string, number, boolean]>([
    [{ maxRequestsPerSecond: 10 }, '', 1, false],
    [{ maxMessagesPerSecond: 50 }, '', 5, false],
    [{ maxRequestsPerSecond: 10 }, ' while they reopen the destination', 1, true],
  ])(
    'keep and nearly reach %j%s',
    async (limits, _, maxMessages, isReopened) => {
      const { maxRequestsPerSecond, maxMessagesPerSecond } = limits;
      const rate = maxRequestsPerSecond ?? maxMessagesPerSecond ?? 0;
      const isReached = (usual: number): boolean => usual >= 0.9 * rate;
      const rates: number[] = [];
      while (rates.length < RUNS && !rates.some(isReached)) {
        const sent = await sendFromTwo(openStore(), limits, { maxMessages, isReopened });
        expect(sent.length).toBeGreaterThan(10);
        // SQLite has whole milliseconds: 5 ms are a twentieth of an interval.
        expect(mostBeyond(sent, rate)).toBeLessThanOrEqual(maxMessages * 1.05);
        rates.push(usualPerSecond(sent));
      }
      expect(rates).toContainEqual(expect.toSatisfy(isReached));
    },
    60_000,
  );
}
