import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/runtime/clock.ts';
import { startLimits } from '../../../src/webhook/http/attempt-limits.ts';
import { failure } from '../../../src/webhook/http/errors.ts';

const DEADLINES = { connectMs: 1, headersMs: 20, totalMs: 30 };

/** Waits end when the test says so, or by their signal, as the system's do. */
function handClock() {
  const waits: { readonly ms: number; readonly signal: AbortSignal; readonly end: () => void }[] =
    [];
  const clock: Clock = {
    now: () => 0,
    monotonicMs: () => 0,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal === undefined) throw new Error('a wait without a signal cannot be ended');
        waits.push({ ms, signal, end: resolve });
        signal.addEventListener('abort', () => resolve());
      }),
    idle: () => Promise.reject(new Error('the deadlines of an attempt hold the process')),
  };
  return { clock, waits, elapse: (ms: number) => waits.find((wait) => wait.ms === ms)?.end() };
}

const settledOrPending = (promise: Promise<unknown>): Promise<unknown> =>
  Promise.race([promise, new Promise((resolve) => setImmediate(resolve, 'pending'))]);

describe('startLimits', () => {
  test('reaches nothing by itself', async () => {
    const limits = startLimits(handClock().clock, DEADLINES, new AbortController().signal);
    expect(await settledOrPending(limits.reached)).toBe('pending');
    expect(limits.signal.aborted).toBe(false);
  });

  test.each([
    [20, failure('headers-timeout', '20 ms')],
    [30, failure('deadline', '30 ms')],
  ])('after %d ms aborts the attempt and tells why', async (ms, why) => {
    const { clock, elapse } = handClock();
    const limits = startLimits(clock, DEADLINES, undefined);
    elapse(ms);
    expect(await limits.reached).toEqual(why);
    expect(limits.signal.aborted).toBe(true);
  });

  test('after the headers only the total deadline counts', async () => {
    const { clock, elapse } = handClock();
    const limits = startLimits(clock, DEADLINES, undefined);
    limits.headersArrived();
    elapse(20);
    expect(await settledOrPending(limits.reached)).toBe('pending');
    elapse(30);
    expect(await limits.reached).toEqual(failure('deadline', '30 ms'));
  });

  test('the first reason stands', async () => {
    const caller = new AbortController();
    const limits = startLimits(handClock().clock, DEADLINES, caller.signal);
    limits.reach(failure('protocol', 'X'));
    caller.abort();
    expect(await limits.reached).toEqual(failure('protocol', 'X'));
  });

  test.each([
    ['before', true],
    ['later', false],
  ])("the caller's signal ends the attempt when it is aborted %s", async (_when, isBefore) => {
    const caller = new AbortController();
    if (isBefore) caller.abort();
    const limits = startLimits(handClock().clock, DEADLINES, caller.signal);
    caller.abort();
    expect(await limits.reached).toEqual(failure('aborted', 'signal'));
    expect(limits.signal.aborted).toBe(true);
  });

  test('end lets go of the timers and of the signal, and reaches nothing', async () => {
    const { clock, waits } = handClock();
    const caller = new AbortController();
    const limits = startLimits(clock, DEADLINES, caller.signal);
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(1);
    limits.end();
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
    expect(waits.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(await settledOrPending(limits.reached)).toBe('pending');
    expect(limits.signal.aborted).toBe(false);
  });
});
