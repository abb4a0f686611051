import { describe, expect, onTestFinished, test } from 'vitest';
import { initialState } from '../../src/delivery/circuit-breaker.ts';
import { Maintenance, type MaintenanceParts } from '../../src/delivery/maintenance.ts';
import { Tracker } from '../../src/delivery/tracker.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { ApplicationUpdate, Claim, MessageQueue } from '../../src/queue/queue.ts';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';
import { toStoredV2 } from '../../src/webhook/encoder.ts';
import { POLICY, wrapQueue } from '../helpers/queues.ts';

const EVERY_MS = 60_000;
const STATE = initialState(POLICY);

async function keep(parts: (clock: FakeClock, queue: MessageQueue) => Partial<MaintenanceParts>) {
  const clock = createFakeClock();
  const queue = createMemoryQueue({}, clock);
  await queue.open(STATE);
  const published: string[] = [];
  const maintenance = new Maintenance({
    queue,
    clock,
    policy: { schedule: { ...POLICY.schedule, horizonMs: 3_600_000 } },
    maintenanceIntervalMs: EVERY_MS,
    stalledAfterMs: 3_600_000,
    observe: (name) => void published.push(name),
    tracker: new Tracker(true),
    reopenIfMoved: () => Promise.resolve('same'),
    yieldToEventLoop: () => Promise.resolve(),
    wake: () => {},
    ...parts(clock, queue),
  });
  onTestFinished(() => clock.runUntilSettled(maintenance.stop()));
  return { clock, queue, maintenance, published };
}

async function enqueue(queue: MessageQueue, applicationId: string, count: number): Promise<void> {
  const entries = Array.from({ length: count }, (_, index) => {
    const message = { message_id: `m-${index}`, message_type: 'test', message: {} };
    return { applicationId, stored: toStoredV2(message), sizeBytes: 100 };
  });
  await queue.enqueue(entries);
}

/** One message was sent, and the state is this one now. */
async function settleOne(queue: MessageQueue, state: Partial<ApplicationUpdate>): Promise<string> {
  const limits = { maxMessages: 1, maxBytes: 1e6, leaseMs: EVERY_MS };
  const claim = (await queue.claim({ ofHealth: ['untried', 'healthy'], ...limits })) as Claim;
  const retry = { kind: 'retry', afterMs: 1e6, retryState: null } as const;
  await queue.settle(claim, [retry], { ...STATE, pauseMs: 0, ...state });
  return claim.applicationId;
}

/** So many destinations, each of which fails and has a waiting message. */
async function failing(queue: MessageQueue, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    await enqueue(queue, `shop-${index}`, 1);
    await settleOne(queue, { health: 'failing' });
  }
}

const stateOf = async (queue: MessageQueue, applicationId = 'shop-1') =>
  (await queue.stats()).applications.get(applicationId);

test.each([false, true])(
  'a failure of the queue has the time of the next try unless the sender stops: %s',
  async (isStopped) => {
    const events: object[] = [];
    const { queue, maintenance, clock } = await keep((_clock, memory) => ({
      queue: wrapQueue(memory, { deadLetterClosed: () => Promise.reject(new Error('no disk')) }),
      observe: (_name, event) => void events.push(event()),
    }));
    await enqueue(queue, 'shop-1', 1);
    maintenance.deadLetterClosed('shop-1');
    await (isStopped ? maintenance.stop() : clock.advance(0));
    expect(events).toEqual([{ operation: 'close', ...(isStopped ? {} : { retryInMs: EVERY_MS }) }]);
  },
);

describe('messages that wait for a closed destination', () => {
  test.each([
    ['in pages, none begun once the sender stops', true, { dead: 1000, pending: 1500 }, 0],
    ['to the last one, yielding between pages', false, { dead: 2500, pending: 0 }, 2],
  ])('become dead letters %s', async (_title, isStopped, counts, turns) => {
    let yields = 0;
    const { queue, maintenance, clock, published } = await keep(() => ({
      yieldToEventLoop: async () => {
        yields += 1;
      },
    }));
    await enqueue(queue, 'shop-1', 2500);
    await settleOne(queue, { health: 'closed' });
    maintenance.deadLetterClosed('shop-1');
    await (isStopped ? maintenance.stop() : clock.advance(0));
    expect(yields).toBe(turns);
    expect(await stateOf(queue)).toMatchObject(counts);
    expect(published).toEqual(Array(counts.dead).fill('dead'));
  });

  test('stay if the destination is reopened between two pages', async () => {
    const { queue, maintenance, clock } = await keep((_, kept) => ({
      yieldToEventLoop: () => kept.reopenApplication('shop-1'),
    }));
    await enqueue(queue, 'shop-1', 2500);
    await settleOne(queue, { health: 'closed' });
    maintenance.deadLetterClosed('shop-1');
    await clock.advance(0);
    expect(await stateOf(queue)).toMatchObject({ health: 'untried', dead: 1000, pending: 1500 });
  });
});

/** These applications have a new URL. */
const moved =
  (...ids: readonly string[]) =>
  (_: FakeClock, queue: MessageQueue): Partial<MaintenanceParts> => ({
    reopenIfMoved: async (id) => {
      if (!ids.includes(id)) return 'same';
      await queue.reopenApplication(id);
      return 'reopened';
    },
  });

describe('a round', () => {
  test('opens a closed destination that has a new URL, even if nothing waits for it (D72)', async () => {
    const { queue, maintenance, clock } = await keep(moved('shop-1'));
    await enqueue(queue, 'shop-1', 1);
    await enqueue(queue, 'shop-2', 1);
    await settleOne(queue, { health: 'closed' });
    await settleOne(queue, { health: 'closed' });
    for (const id of ['shop-1', 'shop-2']) await queue.deadLetterClosed(id, 1000);
    maintenance.start();
    await clock.advance(EVERY_MS);
    expect(await stateOf(queue, 'shop-1')).toMatchObject({ health: 'untried', dead: 1 });
    expect(await stateOf(queue, 'shop-2')).toMatchObject({ health: 'closed', dead: 1 });
  });

  test.each([
    ['failing', 1, ['shop-1']],
    ['failing', 0, []],
    ['healthy', 1, []],
    ['closed', 0, ['shop-1']],
  ] as const)(
    'looks up the URL of a %s destination with %i waiting messages: %j',
    async (health, left, asked) => {
      const calls: string[] = [];
      const { queue, maintenance, clock } = await keep(() => ({
        reopenIfMoved: (id) => {
          calls.push(id);
          return Promise.resolve('same');
        },
      }));
      await enqueue(queue, 'shop-1', 1);
      await settleOne(queue, { health });
      if (left === 0) await queue.deadLetterOlderThan(-1, 1);
      maintenance.start();
      await clock.advance(EVERY_MS);
      expect(calls).toEqual(asked);
    },
  );

  test('looks up a hundred destinations at a time, so that look-ups without an answer do not hold it up', async () => {
    let rounds = 0;
    const { queue, maintenance, clock } = await keep((time, kept) => ({
      queue: Object.assign(kept, {
        deadLetterOlderThan: () => {
          rounds += 1;
          return Promise.resolve([]);
        },
      }),
      reopenIfMoved: async () => {
        await time.sleepUnref(10_000);
        return 'unknown';
      },
    }));
    await failing(queue, 201);
    maintenance.start();
    await clock.advance(EVERY_MS + 30_000 + EVERY_MS - 1);
    expect(rounds).toBe(1);
    await clock.advance(1);
    expect(rounds).toBe(2);
  });

  test('goes on after errors, and reports the first one when it ends', async () => {
    const { queue, maintenance, clock, published } = await keep((_, kept) => ({
      stalledAfterMs: 1000,
      reopenIfMoved: async (id) => {
        if (id === 'shop-0') throw new Error('the store is away');
        await kept.reopenApplication(id);
        return 'reopened';
      },
    }));
    await failing(queue, 102);
    await enqueue(queue, 'stalled', 1);
    maintenance.start();
    await clock.advance(EVERY_MS);
    expect(published).toEqual(['stalled', 'queue-failed']);
    expect(await stateOf(queue, 'shop-0')).toMatchObject({ health: 'failing' });
    expect(await stateOf(queue, 'shop-101')).toMatchObject({ health: 'untried' });
  });

  test('keeps the messages of a closed destination while its settings fail', async () => {
    const { queue, maintenance, clock } = await keep(() => ({
      reopenIfMoved: () => Promise.resolve('unknown'),
    }));
    await enqueue(queue, 'shop-1', 3);
    await settleOne(queue, { health: 'closed' });
    maintenance.start();
    await clock.advance(EVERY_MS);
    expect(await stateOf(queue)).toMatchObject({ health: 'closed', dead: 0, pending: 3 });
  });

  test('looks up nothing more when the sender stops', async () => {
    const calls: string[] = [];
    const { queue, maintenance, clock } = await keep((time) => ({
      reopenIfMoved: async (id) => {
        calls.push(id);
        await time.sleepUnref(10_000);
        return 'unknown';
      },
    }));
    await failing(queue, 101);
    maintenance.start();
    await clock.advance(EVERY_MS);
    await clock.runUntilSettled(maintenance.stop());
    expect(calls).toHaveLength(100);
  });

  test('forgets messages of this sender that another process has settled', async () => {
    const tracker = new Tracker(true);
    tracker.beginEnqueue(2)([1, 3]);
    const { maintenance, clock } = await keep(() => ({ tracker }));
    maintenance.start();
    await clock.advance(EVERY_MS);
    expect([tracker.rangeCount, tracker.pending]).toEqual([0, 0]);
  });
});
