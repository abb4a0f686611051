import { describe, expect, test } from 'vitest';
import { MEMORY_OPTIONS } from '../../src/queue/memory/store.ts';
import { createMemoryQueue, type MemoryQueueOptions } from '../../src/queue/memory.ts';
import { type DurableQueue, exportQueue, importQueue } from '../../src/queue/move.ts';
import type { Claim, MessageQueue, QueueEntry } from '../../src/queue/queue.ts';
import { nextTurn } from '../../src/runtime/yield-to-event-loop.ts';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { describeQueueConformance } from './conformance/describe-queue-conformance.ts';
import {
  closeApplication,
  DEAD,
  DELIVERED,
  entryOf,
  INITIAL,
  idsOf,
  LAST,
  manyOf,
  retry,
  settleAll,
} from './conformance/trial.ts';

describeQueueConformance('the memory queue', {
  create: (bounds) => {
    const clock = createFakeClock();
    return Promise.resolve({
      queue: createMemoryQueue(bounds, clock),
      advance: (ms) => clock.advance(ms),
      dispose: () => Promise.resolve(),
    });
  },
  isDurable: false,
  randomRuns: quickOrNightly(60, 200),
});

test('the memory queue is refused as the source and as the target of a move', async () => {
  const queue = createMemoryQueue() as unknown as DurableQueue;
  const refused = expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['queue'] });
  await expect(exportQueue(queue).next()).rejects.toEqual(refused);
  await expect(importQueue(queue, [])).rejects.toEqual(refused);
});

const REQUEST = { ofHealth: ['healthy'], maxMessages: 1000, maxBytes: 1e9, leaseMs: 1000 } as const;

interface Opened {
  readonly queue: MessageQueue;
  readonly clock: FakeClock;
  readonly claim: () => Promise<Claim>;
  /** Claims what is due of one application, and makes dead letters of it. */
  readonly killAll: () => Promise<void>;
}

async function opened(options?: MemoryQueueOptions): Promise<Opened> {
  const clock = createFakeClock();
  const queue = createMemoryQueue(options, clock);
  await queue.open(INITIAL);
  const claim = async (): Promise<Claim> => (await queue.claim(REQUEST)) as Claim;
  const killAll = async () => void (await settleAll(queue, await claim(), { result: DEAD }));
  return { queue, clock, claim, killAll };
}

const sized = (sizeBytes: number): QueueEntry => entryOf('one', { sizeBytes });

const lettersOf = async (queue: MessageQueue): Promise<string[]> =>
  (await queue.listDeadLetters({ limit: 100 })).items.map(({ stored }) => stored.messageId);

describe('the options of a memory queue', () => {
  test.each([
    [null, [], 'expected the options to be an object'],
    [{ more: 0 }, ['more'], 'unknown key "more" in the options'],
    ...(['maxPendingBytes', 'maxPendingMessages', 'maxDeadBytes'] as const).flatMap((name) => {
      const least = name === 'maxDeadBytes' ? 0 : 1;
      const says = `expected ${name} to be an integer from ${least} to ${Number.MAX_SAFE_INTEGER}`;
      return [[{ [name]: least - 1 }, [name], says] as const];
    }),
  ] as const)('refuse %j', (options, path, says) => {
    expect(() => createMemoryQueue(options as MemoryQueueOptions)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path,
        message: expect.stringContaining(says),
      }),
    );
  });

  test('have the documented defaults', () => {
    const { maxPendingBytes, maxPendingMessages, maxDeadBytes } = MEMORY_OPTIONS;
    expect(maxPendingBytes.default).toBe(64 * 1024 * 1024);
    expect(maxPendingMessages.default).toBe(100_000);
    expect(maxDeadBytes.default).toBe(16 * 1024 * 1024);
  });
});

describe('the memory queue', () => {
  test('has the durability memory, and no timers', async () => {
    const { queue, clock, claim } = await opened();
    expect(queue.durability).toBe('memory');
    await queue.enqueue([sized(1)]);
    await queue.settle(await claim(), [retry(5)], LAST);
    expect(clock.pending).toBe(0);
  });

  test('uses the system clock by default', async () => {
    const queue = createMemoryQueue();
    await queue.open(INITIAL);
    const startedAt = Date.now();
    await queue.enqueue([sized(1)]);
    expect(await queue.deadLetterOlderThan(-1, 10)).toHaveLength(1);
    const [letter] = (await queue.listDeadLetters({ limit: 1 })).items;
    expect(letter?.diedAt).toBeGreaterThanOrEqual(startedAt);
    expect(letter?.diedAt).toBeLessThanOrEqual(Date.now());
  });

  test('rejects calls before it is opened', async () => {
    const queue = createMemoryQueue();
    const closed = { code: 'ERR_QUEUE_CLOSED' };
    await expect(queue.enqueue([sized(1)])).rejects.toMatchObject(closed);
    await expect(queue.claim(REQUEST)).rejects.toMatchObject(closed);
  });

  test('evicts the oldest dead letters of any application above maxDeadBytes', async () => {
    const { queue, killAll } = await opened({ maxDeadBytes: 250 });
    for (const messageId of ['a', 'b', 'c']) {
      await queue.enqueue([entryOf(messageId === 'a' ? 'one' : 'two', { messageId })]);
      await killAll();
    }
    expect(await lettersOf(queue)).toEqual(['b', 'c']);
    await queue.enqueue([entryOf('one', { messageId: 'huge', sizeBytes: 251 })]);
    await killAll();
    expect(await lettersOf(queue)).toEqual([]);
    const { applications, ...total } = await queue.stats();
    expect(total).toMatchObject({ accepted: 4, pending: 0, dead: 0, discarded: { evicted: 4 } });
    expect(applications.get('one')).toMatchObject({ dead: 0, discarded: { evicted: 2 } });
    expect(applications.get('two')).toMatchObject({ dead: 0, discarded: { evicted: 2 } });
  });

  test('has room for dead letters after a purge or a replay', async () => {
    const { queue, killAll } = await opened({ maxDeadBytes: 200 });
    const killOne = async (messageId: string): Promise<void> => {
      await queue.enqueue([entryOf(messageId, { messageId })]);
      await killAll();
    };
    await killOne('a');
    await killOne('b');
    await queue.purgeDeadLetters({ applicationId: 'a' });
    await killOne('c');
    expect(await lettersOf(queue)).toEqual(['b', 'c']);
    await queue.replayDeadLetters({ applicationId: 'b' });
    await killAll();
    expect(await lettersOf(queue)).toEqual(['c', 'b']);
    expect((await queue.stats()).discarded).toEqual({ purged: 1 });
  });

  test('makes messages due at the millisecond when the clock has fractions', async () => {
    const { queue, clock, claim } = await opened();
    await queue.enqueue([sized(1)]);
    clock.elapse(0.5);
    await queue.settle(await claim(), [retry(0)], LAST);
    await queue.settle(await claim(), [retry(10.25)], LAST);
    expect(await queue.claim(REQUEST)).toEqual({ dueInMs: 11 });
    clock.elapse(10.25);
    expect(await queue.claim(REQUEST)).toEqual({ dueInMs: 1 });
    clock.elapse(0.25);
    expect(await claim()).toHaveProperty('messages.length', 1);
    expect(await queue.claim(REQUEST)).toEqual({ dueInMs: 1000 });
    clock.elapse(999);
    expect(await queue.claim(REQUEST)).toEqual({ dueInMs: 1 });
    clock.elapse(1);
    expect(await claim()).toHaveProperty('messages.length', 1);
  });

  test('measures time by the monotonic clock, and dates dead letters by the wall clock', async () => {
    const { queue, clock } = await opened();
    await queue.enqueue([sized(1)]);
    clock.elapse(5000);
    clock.setWallClock(Date.UTC(2031, 0, 1));
    expect(await queue.deadLetterOlderThan(5000, 10)).toEqual([]);
    expect(await queue.deadLetterOlderThan(4999, 10)).toHaveLength(1);
    const { items } = await queue.listDeadLetters({ limit: 1 });
    const diedAt = Date.UTC(2031, 0, 1);
    expect(items).toMatchObject([{ acceptedAt: diedAt - 5000, diedAt }]);
  });

  test('returns the messages of an enqueue in progress when it is closed', async () => {
    let nowMs = 0;
    const monotonicMs = (): number => (nowMs += 10);
    const queue = createMemoryQueue({}, { now: () => 0, monotonicMs });
    await queue.open(INITIAL);
    const entering = queue.enqueue(manyOf('one', 500));
    for (let turn = 0; turn < 2; turn += 1) await nextTurn();
    const { returned } = await queue.close();
    expect((await entering).sequences).toHaveLength(500);
    expect(returned).toHaveLength(500);
  });

  test('returns undelivered messages with their sends when it is closed', async () => {
    const { queue, claim, killAll } = await opened();
    const entries = ['a', 'b', 'c'].map((messageId) => entryOf('one', { messageId }));
    const { sequences } = await queue.enqueue(entries);
    await queue.settle(await claim(), [retry(50), DELIVERED, retry(0)], LAST);
    await queue.enqueue([entryOf('dead')]);
    const claimed = await claim();
    await killAll();
    await queue.enqueue([entryOf('closed', { messageId: 'd' })]);
    await closeApplication(queue);
    const { returned, remaining } = await queue.close();
    expect(idsOf(claimed)).toEqual(['c']);
    expect(remaining).toBe(0);
    expect(returned).toMatchObject([
      { applicationId: 'one', stored: { messageId: 'c' }, sends: 1 },
      { applicationId: 'one', stored: entries[0]?.stored, sends: 1, sequence: sequences[0] },
      { applicationId: 'closed', stored: { messageId: 'd' }, sends: 1 },
    ]);
    const gone = { delivered: 1, dead: 1, discarded: { returned: 3 } };
    expect(await queue.stats()).toMatchObject({
      accepted: 5,
      pending: 0,
      pendingBytes: 0,
      ...gone,
    });
  });

  test('claims a message again after a lease of 0 ms', async () => {
    const { queue } = await opened();
    await queue.enqueue([sized(1)]);
    for (const retryCount of [0, 1]) {
      const claimed = await queue.claim({ ...REQUEST, leaseMs: 0 });
      expect(claimed).toMatchObject({ messages: [{ retryCount }] });
    }
  });

  test('does not settle a claim by missing results', async () => {
    const { queue, claim } = await opened();
    await queue.enqueue(manyOf('one', 5));
    const claimed = await claim();
    await expect(queue.settle(claimed, Array(5), LAST)).rejects.toThrow(TypeError);
    expect(await queue.stats()).toMatchObject({ delivered: 0, pending: 5 });
  });
});
