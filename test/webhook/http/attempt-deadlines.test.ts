import { describe, expect, test } from 'vitest';
import { type Clock, waitsOf } from '../../../src/runtime/clock.ts';
import { Attempt } from '../../../src/webhook/http/attempt.ts';
import { failure } from '../../../src/webhook/http/errors.ts';
import type { Transport } from '../../../src/webhook/http/transport.ts';

/** Starts an attempt on an inert connection. The test fires its timers. */
function startAttempt() {
  const timers = new Map<number, () => void>();
  const startTimer: Clock['startTimer'] = (ms, callback, whileIdle) => {
    if (whileIdle !== 'keep-alive') throw new Error('deadlines must keep the process alive');
    timers.set(ms, callback);
    return () => void timers.delete(ms);
  };
  const clock: Clock = { now: () => 0, monotonicMs: () => 0, startTimer, ...waitsOf(startTimer) };
  const ends: string[] = [];
  const transport: Transport = {
    ready: () => undefined,
    lease: () => ({
      dispatcher: { dispatch: () => {} },
      connectInfo: () => ({ phases: {} }),
      end: (how) => ends.push(how),
    }),
    close: () => Promise.resolve(),
  };
  const attempt = new Attempt({
    transport,
    request: { url: new URL('http://receiver.invalid/'), body: Buffer.from('[]'), headers: {} },
    deadlines: { connectMs: 1, headersMs: 20, totalMs: 30 },
    maxResponseBytes: 10,
    clock,
    onEnd: () => ends.push('over'),
  });
  attempt.start();
  return { attempt, timers, ends, elapse: (ms: number) => timers.get(ms)?.() };
}

describe('an attempt', () => {
  test.each([
    [20, failure('headers-timeout', '20 ms')],
    [30, failure('deadline', '30 ms')],
  ])('fails after %d ms without response headers, with the reason', async (ms, reason) => {
    const { attempt, timers, ends, elapse } = startAttempt();
    const { signal } = attempt;
    elapse(ms);
    expect(await attempt.result).toMatchObject(reason);
    expect(signal.aborted).toBe(true);
    expect(timers.size).toBe(0);
    expect(ends).toEqual(['broken', 'over']);
  });

  test('keeps only the total deadline after the response headers, and keeps the status', async () => {
    const { attempt, timers, ends, elapse } = startAttempt();
    attempt.onResponseStart(null, 202, { 'retry-after': '7' });
    expect([...timers.keys()]).toEqual([30]);
    elapse(30);
    expect(await attempt.result).toMatchObject({ status: 202, retryAfter: '7' });
    expect(ends).toEqual(['broken', 'over']);
  });

  test('ends once: later events change nothing', async () => {
    const { attempt, ends } = startAttempt();
    attempt.stop(failure('protocol', 'X'));
    attempt.stop(failure('aborted', 'signal'));
    attempt.onResponseStart(null, 200, {});
    attempt.onResponseEnd();
    attempt.onResponseError(null, new Error('late'));
    expect(await attempt.result).toMatchObject(failure('protocol', 'X'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends).toEqual(['broken', 'over']);
  });

  test('releases its connection and leaves no timer after a complete response', async () => {
    const { attempt, timers, ends } = startAttempt();
    attempt.onResponseStart(null, 200, {});
    attempt.onResponseData(null, Buffer.alloc(10));
    attempt.onResponseEnd();
    expect(await attempt.result).toMatchObject({ status: 200 });
    expect(attempt.signal.aborted).toBe(false);
    expect(timers.size).toBe(0);
    expect(ends).toEqual(['clean', 'over']);
  });
});
