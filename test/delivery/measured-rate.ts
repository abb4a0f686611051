import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as wait } from 'node:timers/promises';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { messages, openReceiver, openSender, SECRET } from '../helpers/sender.ts';

const CHANNEL = 'security-event-delivery:attempt-started';

export interface MeasuredRate {
  /** Requests per second, from the first to the last. */
  readonly perSecond: number;
  /** Most requests beyond the rate at any time: the highest level of a leaky bucket. */
  readonly mostBeyond: number;
}

/** Lets two senders on queues of one store deliver for `ms` with a limit of requests per second. */
export async function measureRate(
  open: () => MessageQueue,
  limit: number,
  ms: number,
): Promise<MeasuredRate> {
  const { url } = await openReceiver();
  const shop = {
    name: 'shop',
    environment: 'test',
    url,
    secret: SECRET,
    maxRequestsPerSecond: limit,
  };
  const settings = { applications: { 'shop-1': shop } };
  const startedMs: number[] = [];
  const onStarted = (): void => void startedMs.push(performance.now());
  const senders = [1, 2].map(() => openSender({ queue: open(), settings, maxMessages: 1 }));
  subscribe(CHANNEL, onStarted);
  try {
    await Promise.all(senders.map((sender) => sender.send(messages(limit * 10))));
    await wait(ms);
  } finally {
    unsubscribe(CHANNEL, onStarted);
  }
  await Promise.all(senders.map((sender) => sender.close({ deadlineMs: 0 })));
  const [firstMs = 0] = startedMs;
  const lastMs = startedMs.at(-1) ?? 0;
  return {
    perSecond: ((startedMs.length - 1) * 1000) / (lastMs - firstMs),
    mostBeyond: mostBeyond(
      startedMs.map((atMs) => ({ atMs, count: 1 })),
      limit,
    ),
  };
}

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
