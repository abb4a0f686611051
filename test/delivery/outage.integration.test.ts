/**
 * The goal for D75: an hour's outage with 100,000 messages waiting (nightly; 8000 of them in CI)
 * ends in slow start, not in a flood.
 */
import { expect, onTestFinished, test } from 'vitest';
import { makeSender } from '../../src/delivery/create-sender.ts';
import type { WebhookSender } from '../../src/delivery/sender.ts';
import { createFakeClock, createSeededRandom, type FakeClock } from '../../src/testing/index.ts';
import type { Poster } from '../../src/webhook/http/client.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { ids, messages, SECRET } from '../helpers/sender.ts';

const SECOND_MS = 1000;
const HOUR_MS = 3600 * SECOND_MS;
const WAITING = quickOrNightly(8000, 100_000);
const HORIZON_MS = 6 * HOUR_MS;

interface Element {
  readonly message_id: string;
  readonly retry_count: number;
}

interface Posted {
  readonly atMs: number;
  readonly isDelivered: boolean;
  readonly elements: readonly Element[];
}

/** A receiver that says 503 for an hour, then 204; either takes no time. */
function recoveringWire(clock: FakeClock): { readonly posts: readonly Posted[]; poster: Poster } {
  const posts: Posted[] = [];
  const startedAt = clock.monotonicMs();
  let inFlight = 0;
  const poster: Poster = {
    async post({ body }) {
      const atMs = clock.monotonicMs() - startedAt;
      const isDelivered = atMs >= HOUR_MS;
      inFlight += 1;
      expect(inFlight).toBe(1);
      posts.push({ atMs, isDelivered, elements: JSON.parse(body.toString()) as Element[] });
      await Promise.resolve();
      inFlight -= 1;
      const status = isDelivered ? 204 : 503;
      return { kind: 'response', status, retryAfter: undefined, timings: { totalMs: 0 } };
    },
    close: () => Promise.resolve(),
  };
  return { posts, poster };
}

function start(): { clock: FakeClock; sender: WebhookSender; posts: readonly Posted[] } {
  const clock = createFakeClock();
  const random = createSeededRandom(75);
  const { posts, poster } = recoveringWire(clock);
  const sender = makeSender(
    {
      url: 'https://receiver.example/hook',
      secret: SECRET,
      schedule: { horizonMs: HORIZON_MS },
    },
    {
      clock,
      random,
      newId: () => 'sender',
      createPoster: () => poster,
      maxOpenFiles: Number.POSITIVE_INFINITY,
    },
  );
  onTestFinished(async () => {
    await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
  });
  return { clock, sender, posts };
}

/** D75: five failures open the destination; then it is probed by the schedule, every 5 min at most. */
const FIRST_WAITS_MS = [0, 0, 0, 0, 5 * SECOND_MS, 30 * SECOND_MS, 120 * SECOND_MS];
const LONGEST_WAIT_MS = 300 * SECOND_MS;

const idsOf = ({ elements }: Posted): string[] => elements.map(({ message_id }) => message_id);

/** How many requests there were in each second from this one on. */
function perSecond(posts: readonly Posted[]): number[] {
  const [first] = posts;
  const counts: number[] = [];
  for (const { atMs } of posts) {
    const second = Math.floor((atMs - (first?.atMs ?? 0)) / SECOND_MS);
    while (counts.length <= second) counts.push(0);
    counts[second] = (counts[second] ?? 0) + 1;
  }
  return counts;
}

test(`an hour's outage with ${WAITING} messages waiting ends in slow start, and each is delivered once`, async () => {
  const { clock, sender, posts } = start();
  const { accepted } = await sender.send(messages(WAITING));
  expect(accepted).toHaveLength(WAITING);
  const settled = await clock.runUntilSettled(sender.flush(), HORIZON_MS);
  expect(settled).toEqual({
    delivered: WAITING,
    dead: 0,
    discarded: 0,
    settledElsewhere: 0,
    pending: 0,
  });
  expect(await sender.stats()).toMatchObject({
    accepted: WAITING,
    delivered: WAITING,
    pending: 0,
    dead: 0,
    discarded: {},
    attempts: posts.length,
  });

  const failed = posts.filter(({ isDelivered }) => !isDelivered);
  const delivered = posts.filter(({ isDelivered }) => isDelivered);
  expect(posts).toEqual([...failed, ...delivered]);

  // While it is away: five requests of the cautious size, then one message at a time, and rarely.
  const untilRecovery = posts.slice(0, failed.length + 1);
  expect(untilRecovery.map(({ elements }) => elements.length)).toEqual(
    untilRecovery.map((_, index) => (index < 5 ? 100 : 1)),
  );
  for (const [index, { atMs }] of untilRecovery.slice(1).entries()) {
    const waitMs = atMs - (untilRecovery[index]?.atMs ?? 0);
    const leastMs = FIRST_WAITS_MS[index] ?? LONGEST_WAIT_MS;
    expect(waitMs).toBeGreaterThanOrEqual(leastMs);
    expect(waitMs).toBeLessThanOrEqual(leastMs * 1.25);
  }

  // The probe that passes, then 2, 4, 8 …: a spacing of 31.25 ms is 32 whole ones. As soon as each
  // second has had its requests, nothing is left: as many of the largest size, and the probe.
  expect(perSecond(delivered)).toEqual(quickOrNightly([1, 2, 4, 2], [1, 2, 4, 8, 16, 31, 39]));
  expect(delivered.map(({ elements }) => elements.length)).toEqual([
    1,
    ...Array<number>(WAITING / 1000 - 1).fill(1000),
    999,
  ]);

  // What was never sent goes first, as it was accepted; then what has failed, as it came due again.
  const sendings = new Map<string, number>();
  for (const id of failed.flatMap(idsOf)) sendings.set(id, (sendings.get(id) ?? 0) + 1);
  expect(new Set(sendings.values())).toEqual(new Set([1]));
  const deliveredIds = delivered.flatMap(idsOf);
  const untried = ids(WAITING).filter((id) => !sendings.has(id));
  expect(deliveredIds.slice(0, untried.length)).toEqual(untried);
  const again = deliveredIds.slice(untried.length);
  const [batches, probes] = [failed.slice(0, 5).map(idsOf), failed.slice(5).flatMap(idsOf)];
  expect(again.slice(500)).toEqual(probes);
  const inHundreds = [0, 1, 2, 3, 4].map((index) => again.slice(index * 100, (index + 1) * 100));
  expect(new Set(inHundreds.map(String))).toEqual(new Set(batches.map(String)));
  for (const { elements } of delivered) {
    const counts = elements.map(({ message_id }) => sendings.get(message_id) ?? 0);
    expect(elements.map(({ retry_count }) => retry_count)).toEqual(counts);
  }
});
