/** Measures how fast two processes that share a durable queue send to one destination. */
import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { RateLimitedSender } from '../fixtures/rate-limited-sender.ts';
import { fixtureCommand, startChild } from '../helpers/child-programs.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { openReceiver } from '../helpers/sender.ts';

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

type SharedQueue = RateLimitedSender['queue'];

/** About 3 s. */
const REQUESTS = 30;

/** Lets two processes deliver. Returns their requests. */
async function sendFromTwo(
  queue: SharedQueue,
  limits: Limits,
  { maxMessages, isReopened = false }: { maxMessages: number; isReopened?: boolean },
): Promise<readonly Sent[]> {
  const { url } = await openReceiver(isReopened ? { otherwise: { status: 500 } } : {});
  const given: RateLimitedSender = { queue, url, limits, maxMessages, isReopened };
  const command = fixtureCommand('rate-limited-sender', [JSON.stringify(given)]);
  const sent: Sent[] = [];
  const processes = [1, 2].map(() => startChild(command, ['ignore', 'inherit', 'inherit', 'ipc']));
  await Promise.all(processes.map((one) => once(one, 'message')));
  for (const one of processes) one.on('message', (request) => sent.push(request as Sent));
  for (const one of processes) one.send('start');
  await vi.waitFor(() => expect(sent.length).toBeGreaterThan(REQUESTS), { timeout: 50_000 });
  for (const one of processes) one.send('stop');
  const exits = await Promise.all(processes.map((one) => once(one, 'close')));
  expect(exits).toEqual([
    [0, null],
    [0, null],
  ]);
  return sent.toSorted((one, other) => one.atMs - other.atMs);
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

/** Tests that rate limits hold for two processes in every run, and that they are nearly reached while messages wait. */
export function testRateLimits(createQueue: () => Promise<SharedQueue>): void {
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
        const sent = await sendFromTwo(await createQueue(), limits, { maxMessages, isReopened });
        // SQLite has whole milliseconds: 5 ms are a twentieth of an interval.
        expect(mostBeyond(sent, rate)).toBeLessThanOrEqual(maxMessages * 1.05);
        rates.push(usualPerSecond(sent));
      }
      expect(rates).toContainEqual(expect.toSatisfy(isReached));
    },
    60_000,
  );
}
