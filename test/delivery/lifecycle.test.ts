import { describe, expect, test } from 'vitest';
import { Lifecycle, type LifecycleParts } from '../../src/delivery/lifecycle.ts';
import { LastFailures } from '../../src/delivery/report.ts';
import { Tracker } from '../../src/delivery/tracker.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { toStoredV2 } from '../../src/webhook/encoder.ts';
import { wrapQueue } from '../helpers/queues.ts';

const never = (): Promise<never> => new Promise(() => {});

function startLifecycle(parts: Partial<LifecycleParts>) {
  const clock = createFakeClock();
  const done: string[] = [];
  const lifecycle = new Lifecycle({
    clock,
    tracker: new Tracker(true),
    queue: wrapQueue(createMemoryQueue({}, clock), {
      close: async () => {
        done.push('closed');
        return { returned: [], remaining: 7 };
      },
    }),
    observe: () => {},
    isDelivering: true,
    openFailure: () => undefined,
    isInFlight: () => false,
    lastFailures: new LastFailures(),
    drain: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    disconnect: async () => void done.push('disconnected'),
    yieldToEventLoop: () => Promise.resolve(),
    ...parts,
  });
  return { clock, done, lifecycle };
}

test('close gives way between the messages that it hands back, as many as there may be', async () => {
  const tracker = new Tracker(true);
  tracker.beginEnqueue(3)([1, 2, 3]);
  const returned = ['m-0', 'm-1', 'm-2'].map((id, index) => ({
    applicationId: 'shop-1',
    stored: toStoredV2({ message_id: id, message_type: 'test', message: {} }),
    sequence: index + 1,
    sends: 1,
  }));
  const pending: number[] = [];
  const told: unknown[] = [];
  const { clock, lifecycle } = startLifecycle({
    tracker,
    queue: wrapQueue(createMemoryQueue(), { close: async () => ({ returned, remaining: 0 }) }),
    observe: (name, event) => void told.push([name, event()]),
    yieldToEventLoop: async () => void pending.push(tracker.pending),
  });
  const report = await lifecycle.close();
  expect(pending).toEqual([2, 1, 0]);
  expect(report).toMatchObject({ delivered: 0, dead: 0, discarded: 3, remaining: 0 });
  expect(report.returned.map(({ message_id }) => message_id)).toEqual(['m-0', 'm-1', 'm-2']);
  expect(told).toEqual([['discarded', { reason: 'returned', count: 3 }]]);
  await clock.advance(0);
  expect(clock.pending).toBe(0);
});

test('close names failing destinations if messages were returned and others remain', async () => {
  const failure = { applicationId: 'shop-1', status: 500 };
  const lastFailures = new LastFailures();
  lastFailures.record(failure);
  const stored = toStoredV2({ message_id: 'm-0', message_type: 'test', message: {} });
  const returned = [{ applicationId: 'shop-1', stored, sequence: 1, sends: 1 }];
  const queue = wrapQueue(createMemoryQueue(), { close: async () => ({ returned, remaining: 1 }) });
  const { lifecycle } = startLifecycle({ lastFailures, queue });
  const report = await lifecycle.close();
  expect(report).toMatchObject({ discarded: 1, remaining: 1, failures: [failure] });
});

describe('close of a queue whose server is away', () => {
  test('does not wait for the answer to a claim longer than 10 s', async () => {
    const { clock, done, lifecycle } = startLifecycle({ stop: never });
    const closing = lifecycle.close();
    await clock.advance(9999);
    expect(done).toEqual([]);
    await clock.advance(1);
    expect(await closing).toMatchObject({ returned: [], remaining: 7 });
    expect(done).toEqual(['closed', 'disconnected']);
    expect(clock.pending).toBe(0);
  });

  test('rejects if the queue does not answer for 30 s, and still ends the connections', async () => {
    const clock = createFakeClock();
    const queue = wrapQueue(createMemoryQueue({}, clock), { close: never });
    const { done, lifecycle } = startLifecycle({ clock, queue });
    const closing = lifecycle.close().catch((error: unknown) => error);
    await clock.advance(29_999);
    expect(done).toEqual([]);
    await clock.advance(1);
    expect(await closing).toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      cause: { message: 'no answer within 30 s' },
    });
    expect(done).toEqual(['disconnected']);
    expect(clock.pending).toBe(0);
  });
});
