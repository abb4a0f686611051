import { describe, expect, test } from 'vitest';
import { type Clock, waitsOf } from '../../../src/runtime/clock.ts';
import { AttemptLimits } from '../../../src/webhook/http/attempt-limits.ts';
import { failure } from '../../../src/webhook/http/errors.ts';

const DEADLINES = { connectMs: 1, headersMs: 20, totalMs: 30 };

/** Timers end when the test says so. */
function handClock() {
  const timers = new Map<number, () => void>();
  const startTimer: Clock['startTimer'] = (ms, callback, whileIdle) => {
    if (whileIdle !== 'keep-alive') throw new Error('the deadlines of an attempt hold the process');
    timers.set(ms, callback);
    return () => void timers.delete(ms);
  };
  const clock: Clock = { now: () => 0, monotonicMs: () => 0, startTimer, ...waitsOf(startTimer) };
  return { clock, timers, elapse: (ms: number) => timers.get(ms)?.() };
}

const never = new Promise<never>(() => {});

const settledOrPending = (promise: Promise<unknown>): Promise<unknown> =>
  Promise.race([promise, new Promise((resolve) => setImmediate(resolve, 'pending'))]);

describe('the limits of an attempt', () => {
  test('are not reached by themselves', async () => {
    const limits = new AttemptLimits(handClock().clock, DEADLINES);
    expect(await settledOrPending(limits.race(never))).toBe('pending');
    expect(limits.reached).toBeUndefined();
    expect(limits.signal.aborted).toBe(false);
  });

  test.each([
    [20, failure('headers-timeout', '20 ms')],
    [30, failure('deadline', '30 ms')],
  ])('after %d ms end the attempt and tell why', async (ms, why) => {
    const { clock, elapse } = handClock();
    const limits = new AttemptLimits(clock, DEADLINES);
    const { signal } = limits;
    const waiting = limits.race(never);
    elapse(ms);
    expect(await waiting).toEqual(why);
    expect(limits.reached).toEqual(why);
    expect(signal.aborted).toBe(true);
  });

  test('give what the work gives, or rejects with, before they are reached', async () => {
    const limits = new AttemptLimits(handClock().clock, DEADLINES);
    expect(await limits.race(Promise.resolve(7))).toBe(7);
    const error = new Error('no');
    await expect(limits.race(Promise.reject(error))).rejects.toBe(error);
  });

  test('once reached end what is begun later, and abort a signal that is asked for later', async () => {
    const limits = new AttemptLimits(handClock().clock, DEADLINES);
    limits.reach(failure('aborted', 'closed'));
    expect(await limits.race(Promise.resolve(7))).toEqual(failure('aborted', 'closed'));
    expect(limits.signal.aborted).toBe(true);
  });

  test('after the headers are the total deadline only', async () => {
    const { clock, elapse } = handClock();
    const limits = new AttemptLimits(clock, DEADLINES);
    limits.headersArrived();
    elapse(20);
    expect(limits.reached).toBeUndefined();
    elapse(30);
    expect(limits.reached).toEqual(failure('deadline', '30 ms'));
  });

  test('keep their first reason', () => {
    const limits = new AttemptLimits(handClock().clock, DEADLINES);
    limits.reach(failure('protocol', 'X'));
    limits.reach(failure('aborted', 'signal'));
    expect(limits.reached).toEqual(failure('protocol', 'X'));
  });

  test('that have ended leave no timer, and reach nothing', async () => {
    const { clock, timers } = handClock();
    const limits = new AttemptLimits(clock, DEADLINES);
    expect(timers.size).toBe(2);
    limits.clearTimers();
    expect(timers.size).toBe(0);
    expect(await settledOrPending(limits.race(never))).toBe('pending');
    expect(limits.signal.aborted).toBe(false);
  });
});
