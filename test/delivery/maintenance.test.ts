import { describe, expect, onTestFinished, test } from 'vitest';
import { initialState } from '../../src/delivery/circuit-breaker.ts';
import { Maintenance, type MaintenanceParts } from '../../src/delivery/maintenance.ts';
import { Tracker } from '../../src/delivery/tracker.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { ApplicationUpdate, Claim, MessageQueue } from '../../src/queue/queue.ts';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';
import { storeV2 } from '../../src/webhook/encoder.ts';
import { POLICY } from '../helpers/queues.ts';

const EVERY_MS = 60_000;
const STATE = initialState(POLICY);

interface Kept {
  readonly clock: FakeClock;
  readonly queue: MessageQueue;
  readonly maintenance: Maintenance;
  /** Names and application ids of the events. */
  readonly told: readonly string[];
}

async function keep(parts: (clock: FakeClock, queue: MessageQueue) => Partial<MaintenanceParts>) {
  const clock = createFakeClock();
  const queue = createMemoryQueue({}, clock);
  await queue.open(STATE);
  const told: string[] = [];
  const maintenance = new Maintenance({
    queue,
    clock,
    horizonMs: 3_600_000,
    everyMs: EVERY_MS,
    stalledAfterMs: 3_600_000,
    observe: (name) => void told.push(name),
    tracker: new Tracker(true),
    hasNewUrl: () => Promise.resolve(false),
    yieldToEventLoop: () => Promise.resolve(),
    wake: () => {},
    ...parts(clock, queue),
  });
  onTestFinished(() => clock.runUntilSettled(maintenance.stop()));
  return { clock, queue, maintenance, told } satisfies Kept;
}

async function enqueue(queue: MessageQueue, applicationId: string, count: number): Promise<void> {
  const entries = Array.from({ length: count }, (_, index) => {
    const message = { message_id: `m-${index}`, message_type: 'test', message: {} };
    return { applicationId, stored: storeV2(message), sizeBytes: 100 };
  });
  await queue.enqueue(entries);
}

/** One message was sent, and the state is this one now. */
async function settleOne(queue: MessageQueue, state: Partial<ApplicationUpdate>): Promise<string> {
  const limits = { maxMessages: 1, maxBytes: 1e6, leaseMs: EVERY_MS };
  const claim = (await queue.claim({ tiers: ['untried', 'healthy'], ...limits })) as Claim;
  const retry = { kind: 'retry', afterMs: 1e6, progress: null } as const;
  await queue.settle(claim, [retry], { ...STATE, pauseMs: 0, ...state });
  return claim.applicationId;
}

const stateOf = async (queue: MessageQueue, applicationId = 'shop-1') =>
  (await queue.stats()).applications.get(applicationId);

describe('what waits for a closed destination', () => {
  test('becomes dead letters in pages, between which others have their turn', async () => {
    let turns = 0;
    const { queue, maintenance, told } = await keep(() => ({
      yieldToEventLoop: async () => {
        turns += 1;
      },
    }));
    await enqueue(queue, 'shop-1', 2500);
    await settleOne(queue, { tier: 'closed' });
    maintenance.closeApplication('shop-1');
    await maintenance.stop();
    // A sender that is stopped begins no further page.
    expect(turns).toBe(0);
    expect(await stateOf(queue)).toMatchObject({ dead: 1000, pending: 1500 });
    expect(told).toEqual(Array(1000).fill('dead'));
  });

  test('becomes dead letters to the last one', async () => {
    let turns = 0;
    const { queue, maintenance, clock } = await keep(() => ({
      yieldToEventLoop: async () => {
        turns += 1;
      },
    }));
    await enqueue(queue, 'shop-1', 2500);
    await settleOne(queue, { tier: 'closed' });
    maintenance.closeApplication('shop-1');
    await clock.advance(0);
    expect(turns).toBe(2);
    expect(await stateOf(queue)).toMatchObject({ dead: 2500, pending: 0 });
  });

  test('is left alone where somebody opens the destination between two pages', async () => {
    const { queue, maintenance, clock } = await keep((_, kept) => ({
      yieldToEventLoop: () => kept.reopenApplication('shop-1'),
    }));
    await enqueue(queue, 'shop-1', 2500);
    await settleOne(queue, { tier: 'closed' });
    maintenance.closeApplication('shop-1');
    await clock.advance(0);
    expect(await stateOf(queue)).toMatchObject({ tier: 'untried', dead: 1000, pending: 1500 });
  });
});

const moved = (...ids: readonly string[]) => ({
  hasNewUrl: (id: string) => Promise.resolve(ids.includes(id)),
});

describe('a round', () => {
  test('opens a closed destination that has a new URL, even if nothing waits for it (D72)', async () => {
    const { queue, maintenance, clock } = await keep(() => moved('shop-1'));
    await enqueue(queue, 'shop-1', 1);
    await enqueue(queue, 'shop-2', 1);
    await settleOne(queue, { tier: 'closed' });
    await settleOne(queue, { tier: 'closed' });
    for (const id of ['shop-1', 'shop-2']) await queue.closeApplication(id, 1000);
    maintenance.start();
    await clock.advance(EVERY_MS);
    expect(await stateOf(queue, 'shop-1')).toMatchObject({ tier: 'untried', dead: 1 });
    expect(await stateOf(queue, 'shop-2')).toMatchObject({ tier: 'closed', dead: 1 });
  });

  test('does not bury what waits for a closed destination that has a new URL', async () => {
    const { queue, maintenance, clock } = await keep(() => moved('shop-1'));
    await enqueue(queue, 'shop-1', 3);
    await settleOne(queue, { tier: 'closed' });
    maintenance.start();
    await clock.advance(EVERY_MS);
    expect(await stateOf(queue)).toMatchObject({ tier: 'untried', dead: 0, pending: 3 });
  });

  test.each([
    ['failing', 1, ['shop-1']],
    ['failing', 0, []],
    ['healthy', 1, []],
    ['closed', 0, ['shop-1']],
  ] as const)(
    'asks for the URL of a %s destination with %i waiting: %j',
    async (tier, left, asked) => {
      const calls: string[] = [];
      const { queue, maintenance, clock } = await keep(() => ({
        hasNewUrl: (id) => {
          calls.push(id);
          return Promise.resolve(false);
        },
      }));
      await enqueue(queue, 'shop-1', 1);
      await settleOne(queue, { tier });
      if (left === 0) await queue.expire(-1, 1);
      maintenance.start();
      await clock.advance(EVERY_MS);
      expect(calls).toEqual(asked);
    },
  );

  test('asks for a hundred at a time: what nobody answers does not make it last for ever', async () => {
    let rounds = 0;
    const { queue, maintenance, clock } = await keep((time, kept) => ({
      queue: Object.assign(kept, {
        expire: () => {
          rounds += 1;
          return Promise.resolve([]);
        },
      }),
      hasNewUrl: async () => {
        await time.idle(10_000);
        return false;
      },
    }));
    for (let index = 0; index < 201; index += 1) {
      await enqueue(queue, `shop-${index}`, 1);
      await settleOne(queue, { tier: 'failing' });
    }
    maintenance.start();
    await clock.advance(EVERY_MS + 30_000 + EVERY_MS - 1);
    expect(rounds).toBe(1);
    await clock.advance(1);
    expect(rounds).toBe(2);
  });

  test('looks after the others where it fails at one, and tells of it once', async () => {
    const { queue, maintenance, clock, told } = await keep(() => ({
      hasNewUrl: (id) =>
        id === 'shop-1' ? Promise.reject(new Error('the store is away')) : Promise.resolve(true),
    }));
    for (const id of ['shop-1', 'shop-2']) {
      await enqueue(queue, id, 1);
      await settleOne(queue, { tier: 'failing' });
    }
    maintenance.start();
    await clock.advance(EVERY_MS);
    expect(told).toEqual(['queue-failed']);
    expect(await stateOf(queue, 'shop-1')).toMatchObject({ tier: 'failing' });
    expect(await stateOf(queue, 'shop-2')).toMatchObject({ tier: 'untried' });
  });

  test('asks for nothing more once the sender stops', async () => {
    const calls: string[] = [];
    const { queue, maintenance, clock } = await keep((time) => ({
      hasNewUrl: async (id) => {
        calls.push(id);
        await time.idle(10_000);
        return false;
      },
    }));
    for (let index = 0; index < 101; index += 1) {
      await enqueue(queue, `shop-${index}`, 1);
      await settleOne(queue, { tier: 'failing' });
    }
    maintenance.start();
    await clock.advance(EVERY_MS);
    await clock.runUntilSettled(maintenance.stop());
    expect(calls).toHaveLength(100);
  });

  test('forgets messages of this sender that another process has settled', async () => {
    const tracker = new Tracker(true);
    tracker.expect(2).accepted([1, 3]);
    const { maintenance, clock } = await keep(() => ({ tracker }));
    maintenance.start();
    await clock.advance(EVERY_MS);
    expect(tracker.pending).toBe(2);
    await clock.advance(EVERY_MS);
    expect([tracker.rangeCount, tracker.pending]).toEqual([0, 0]);
  });
});
