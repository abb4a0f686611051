import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';

/** Timers that keep this process alive. */
const keepAliveTimers = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

const anHour = 3_600_000;

describe.each(['sleep', 'sleepUnref'] as const)('%s', (name) => {
  const wait = systemClock[name];

  test('resolves after its time', async () => {
    const startedMs = systemClock.monotonicMs();
    await wait(30);
    // A timer may be early by a fraction of a millisecond.
    expect(systemClock.monotonicMs() - startedMs).toBeGreaterThan(28);
  });

  test('resolves at once when its signal is aborted, before or during the wait', async () => {
    const controller = new AbortController();
    const waiting = wait(anHour, controller.signal);
    const settled = once(controller.signal, 'abort');
    controller.abort(new Error('no reason to reject'));
    await settled;
    expect(await waiting).toBeUndefined();
    expect(await wait(anHour, controller.signal)).toBeUndefined();
    expect(await wait(anHour, AbortSignal.abort())).toBeUndefined();
  });

  test('leaves no timer behind when its signal is aborted', async () => {
    const before = keepAliveTimers();
    const controller = new AbortController();
    const waiting = wait(anHour, controller.signal);
    controller.abort();
    await waiting;
    expect(keepAliveTimers()).toBe(before);
  });

  test('causes no warning with any number of waits on one signal', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    onTestFinished(() => void process.off('warning', listen));
    const controller = new AbortController();
    const waits = Array.from({ length: 50 }, () => wait(anHour, controller.signal));
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await Promise.all(waits);
    expect(warnings).toEqual([]);
  });
});

test('sleep keeps the process alive, sleepUnref does not', async () => {
  const controller = new AbortController();
  const before = keepAliveTimers();
  const slept = systemClock.sleep(anHour, controller.signal);
  expect(keepAliveTimers()).toBe(before + 1);
  const sleptUnref = systemClock.sleepUnref(anHour, controller.signal);
  expect(keepAliveTimers()).toBe(before + 1);
  controller.abort();
  await Promise.all([slept, sleptUnref]);
});

test('now is the wall clock, monotonicMs is a monotonic clock', () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
  const first = systemClock.monotonicMs();
  expect(Math.abs(first - performance.now())).toBeLessThan(1000);
  expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(first);
});
