import { describe, expect, test } from 'vitest';
import { initialState } from '../../src/delivery/circuit-breaker.ts';
import type { DeliveryOptions } from '../../src/delivery/options.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { Claim, MessageQueue, MessageResult } from '../../src/queue/queue.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { toStoredV2 } from '../../src/webhook/encoder.ts';
import { startEngine } from '../helpers/fake-engine.ts';
import { createFailingQueue, POLICY, wrapQueue } from '../helpers/queues.ts';
import { messages, NONE } from '../helpers/sender.ts';

const STATE = initialState(POLICY);
const RETRY_MS = 600_000;
const DELIVERED: MessageResult = { kind: 'delivered' };

/** Another process on the same queue. */
function otherProcess(queue: MessageQueue) {
  const claim = async (maxMessages: number): Promise<Claim> => {
    const request = {
      ofHealth: ['untried', 'healthy'],
      maxMessages,
      maxBytes: 1e9,
      leaseMs: 60_000,
    } as const;
    const claimed = await queue.claim(request);
    if (!('messages' in claimed)) throw new Error('nothing is due');
    return claimed;
  };
  return {
    enqueue: async (count: number, applicationId = 'shop-1'): Promise<void> => {
      const entries = Array.from({ length: count }, (_, index) => ({
        applicationId,
        stored: toStoredV2({ message_id: `old-${index}`, message_type: 'test', message: {} }),
        sizeBytes: 400,
      }));
      await queue.enqueue(entries);
    },
    /** Settles that many messages of the application whose turn it is. */
    settle: async (count: number, result = DELIVERED): Promise<void> => {
      const claimed = await claim(count);
      const results = claimed.messages.map(() => result);
      await queue.settle(claimed, results, { ...STATE, pauseMs: 0 });
    },
  };
}

/** A queue that another process has opened; an engine is started on it by `start`. */
async function openedQueue() {
  const clock = createFakeClock();
  const queue = createMemoryQueue({}, clock);
  await queue.open(STATE);
  return { clock, queue, other: otherProcess(queue) };
}

type Scene = Awaited<ReturnType<typeof openedQueue>>;

const start = ({ clock, queue }: Scene, options: DeliveryOptions = {}) =>
  startEngine({ clock, options: { queue, ...options } });

/** A sender whose turn never comes: the other process is faster. */
const startIdle = ({ clock, queue }: Scene, others: Partial<MessageQueue> = {}) =>
  start({ clock, queue: wrapQueue(queue, { claim: async () => ({}), ...others }) } as Scene);

describe('flush of a sender that opens a queue with messages in it', () => {
  test('waits for those that are due, and counts them', async () => {
    const scene = await openedQueue();
    await scene.other.enqueue(300);
    const { sender, clock } = start(scene);
    expect(await clock.runUntilSettled(sender.flush())).toEqual({ ...NONE, delivered: 300 });
  });

  test('waits until the queue can be opened', async () => {
    const { clock, queue, other } = await openedQueue();
    await other.enqueue(2);
    const failing = createFailingQueue(queue);
    failing.fail('open', 2);
    const { sender } = start({ clock, queue: failing.queue, other });
    expect(await clock.runUntilSettled(sender.flush())).toEqual({ ...NONE, delivered: 2 });
  });
});

test('flush with a deadline ends at it, and counts what is pending', async () => {
  const scene = await openedQueue();
  await scene.other.enqueue(2);
  const { sender, clock } = startIdle(scene);
  await sender.send(messages(3));
  const startedAt = clock.monotonicMs();
  const flushed = await clock.runUntilSettled(sender.flush({ deadlineMs: 2500 }));
  expect(flushed).toEqual({ ...NONE, pending: 5 });
  expect(clock.monotonicMs() - startedAt).toBe(2500);
});

describe('flush of a queue that another process shares', () => {
  test('does not wait for its own messages that the other has settled', async () => {
    const scene = await openedQueue();
    const { sender, clock } = startIdle(scene);
    await sender.send(messages(3));
    const flushing = sender.flush();
    await scene.other.settle(2);
    await clock.advance(5000);
    await scene.other.settle(1);
    expect(await clock.runUntilSettled(flushing, 1000)).toEqual({ ...NONE, settledElsewhere: 3 });
  });

  test('asks again when the queue fails, and publishes it', async () => {
    const scene = await openedQueue();
    let calls = 0;
    const { sender, clock, published } = startIdle(scene, {
      countPending: async (ranges) => {
        calls += 1;
        if (calls === 1) throw new Error('the store is away');
        return await scene.queue.countPending(ranges);
      },
    });
    await sender.send(messages(1));
    const flushing = sender.flush();
    await scene.other.settle(1);
    expect(await clock.runUntilSettled(flushing, 2000)).toEqual({ ...NONE, settledElsewhere: 1 });
    expect(published.filter(([name]) => name === 'queue-failed')).toEqual([
      ['queue-failed', { operation: 'count', retryInMs: 1000 }],
    ]);
  });

  test('leaves no timer behind', async () => {
    const scene = await openedQueue();
    const { sender, clock } = startIdle(scene);
    await sender.send(messages(1));
    await clock.advance(0);
    const before = clock.pending;
    const flushing = sender.flush({ deadlineMs: 1500 });
    await clock.runUntilSettled(flushing);
    await clock.advance(0);
    expect(clock.pending).toBe(before);
  });
});

test('close counts messages that other processes have accepted since, and those that it returns', async () => {
  const scene = await openedQueue();
  const { sender, clock } = startEngine({
    clock: scene.clock,
    options: { queue: scene.queue, schedule: { delaysMs: [RETRY_MS] }, maxActiveRequests: 1 },
    steps: [200, 500],
  });
  await sender.stats();
  await scene.other.enqueue(2, 'shop-2');
  await scene.other.enqueue(1);
  const { returned, ...counts } = await clock.runUntilSettled(sender.close());
  const failures = [{ applicationId: 'shop-1', status: 500 }];
  expect(counts).toEqual({ delivered: 2, dead: 0, discarded: 1, remaining: 0, failures });
  expect(returned.map(({ applicationId }) => applicationId)).toEqual(['shop-1']);
});
