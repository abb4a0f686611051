/** Whoever waits for what a server does not tell: another server is asked, and none that is about to tell is left. */
import { expect, onTestFinished, test } from 'vitest';
import { Feed } from '../../../src/queue/jetstream/feed.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { Consumers } from './consumers.ts';

/** A feed that has begun, whose server has told all up to 3. */
async function begun(madeAfterMs = 0) {
  const clock = createFakeClock();
  const consumers = new Consumers();
  const feed = new Feed({
    nats: consumers.nats,
    manager: consumers.manager,
    clock,
    newInbox: () => `inbox-${consumers.made.length}`,
    callTimeoutMs: 1000,
    stream: 's',
    subjects: '>',
    headersOnly: false,
    lastOfEach: false,
    stamp: (stampMs) => stampMs,
    onMessage: () => {},
    onResumed: () => {},
  });
  const started = feed.start(3);
  consumers.made[0]?.answer({ name: 'first', num_pending: 0 });
  await started;
  onTestFinished(() => feed.end());
  /** How many messages the consumer has told. */
  const told = { count: 0 };
  /** When a consumer was asked for, each in its turn. */
  const asked = [clock.monotonicMs()];
  /** Each consumer is made after so long, and gives signs of life. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 50) {
      await clock.advance(50);
      for (const [index, { answer }] of consumers.made.entries()) {
        asked[index] ??= clock.monotonicMs();
        const isMade = clock.monotonicMs() >= asked[index] + madeAfterMs;
        if (isMade) answer({ name: 'next', num_pending: 1 });
      }
      if (left % 1000 === 0) consumers.heartbeat(told.count);
    }
  };
  /** How long the last one has been there. */
  const ageMs = (): number => clock.monotonicMs() - (asked.at(-1) ?? 0) - madeAfterMs;
  return { feed, consumers, pass, told, ageMs };
}

const outcome = (promise: Promise<boolean>): { is: boolean | undefined } => {
  const found: { is: boolean | undefined } = { is: undefined };
  void promise.then((is) => {
    found.is = is;
  });
  return found;
};

test('one that does not tell it is left for another, again and again', async () => {
  const { feed, consumers, pass, told } = await begun();
  await pass(2000);
  const reached = outcome(feed.insisted(5, 10_000));
  await pass(950);
  expect(consumers.made).toHaveLength(1);
  await pass(1000);
  expect(consumers.made).toHaveLength(2);
  // The next one has twice as long.
  await pass(1000);
  expect(consumers.made).toHaveLength(2);
  await pass(1500);
  expect(consumers.made).toHaveLength(3);
  consumers.message(5, 1, 0);
  told.count = 1;
  await pass(50);
  expect(reached.is).toBe(true);
  // By then it counts as one that tells.
  void feed.insisted(6, 10_000);
  await pass(1500);
  expect(consumers.made).toHaveLength(4);
});

test('one that tells something of it meanwhile is not left', async () => {
  const { feed, consumers, pass, told } = await begun();
  await pass(2000);
  const reached = outcome(feed.insisted(20, 10_000));
  for (let sequence = 4; sequence < 9; sequence += 1) {
    await pass(500);
    told.count += 1;
    consumers.message(sequence, told.count, 1);
    await pass(500);
  }
  expect(consumers.made).toHaveLength(1);
  consumers.message(20, told.count + 1, 0);
  await pass(50);
  expect(reached.is).toBe(true);
});

test('many who wait do not keep one that was made a moment ago from telling it', async () => {
  const { feed, consumers, pass } = await begun();
  await pass(2000);
  // One each 100 ms, each of which would have it made anew after a second.
  const all = [];
  for (let waiting = 0; waiting < 40; waiting += 1) {
    all.push(outcome(feed.insisted(5, 10_000)));
    await pass(100);
  }
  // Once a second and a quarter, as the feed looks at it.
  expect(consumers.made.length).toBeLessThanOrEqual(5);
  consumers.message(5, 1, 0);
  await pass(50);
  expect(all.map(({ is }) => is)).toEqual(all.map(() => true));
});

test.each([
  { waiting: 1, madeAfterMs: 2100, tellsAfterMs: 100, others: 1 },
  { waiting: 10, madeAfterMs: 1200, tellsAfterMs: 100, others: 1 },
  { waiting: 10, madeAfterMs: 200, tellsAfterMs: 1000, others: 1 },
  { waiting: 10, madeAfterMs: 100, tellsAfterMs: 3000, others: 2 },
])(
  'what $waiting wait for comes, where one is made after $madeAfterMs ms and tells after $tellsAfterMs more',
  async ({ waiting, madeAfterMs, tellsAfterMs, others }) => {
    const { feed, consumers, pass, ageMs } = await begun(madeAfterMs);
    await pass(3000);
    const all = Array.from({ length: waiting }, () => outcome(feed.insisted(5, 30_000)));
    for (let ms = 0; ms < 29_000 && all.some(({ is }) => is === undefined); ms += 50) {
      await pass(50);
      // The first one lags behind for ever.
      if (consumers.made.length > 1 && ageMs() >= tellsAfterMs) consumers.message(5, 1, 0);
    }
    expect(all.map(({ is }) => is)).toEqual(all.map(() => true));
    expect(consumers.made).toHaveLength(1 + others);
  },
);

test('who waits is let go where the feed ends', async () => {
  const { feed, pass } = await begun();
  const reached = outcome(feed.insisted(5, 60_000));
  await feed.end();
  await pass(50);
  expect(reached.is).toBe(false);
});

test('what does not come in time is told not to have come', async () => {
  const { feed, pass } = await begun();
  const reached = outcome(feed.insisted(5, 300));
  await pass(250);
  expect(reached.is).toBeUndefined();
  await pass(100);
  expect(reached.is).toBe(false);
});
