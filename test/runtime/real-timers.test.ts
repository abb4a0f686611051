/** A host's tests may fake the global timers: calls of the library settle all the same. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createReporter } from '../../src/index.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createYield, nextTurn } from '../../src/runtime/yield-to-event-loop.ts';
import { createLineSink, startReceiver } from '../../src/testing/index.ts';
import { SECRET } from '../helpers/sender.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
});
afterEach(() => {
  vi.useRealTimers();
});

test('timers fire, turns of the event loop end, and the monotonic clock goes on', async () => {
  const startedAt = systemClock.monotonicMs();
  await systemClock.sleep(2);
  await nextTurn();
  const yieldToEventLoop = createYield({ monotonicMs: () => systemClock.monotonicMs() * 1e6 });
  void yieldToEventLoop();
  await yieldToEventLoop();
  expect(systemClock.monotonicMs() - startedAt).toBeGreaterThan(1);
});

test('a reporter writes the faked date and delivers its message', async () => {
  const receiver = await startReceiver({ secret: SECRET });
  const sink = createLineSink();
  const reporter = createReporter({
    service: { svc_id: 'shop-1', name: 'shop', env: 'test' },
    log: { destination: sink },
    webhook: { url: receiver.url, secret: SECRET, network: 'allow-private' },
  });
  reporter.attack({ ruleset: 'sql_injection' });
  expect(await reporter.close()).toMatchObject({ delivered: 1 });
  expect(sink.records[0]?.detected_at).toBe('2026-01-01T00:00:00.000Z');
  expect(receiver.requests).toHaveLength(1);
  await receiver.close();
});
