import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { WakeableTimer, withSettingsTimeout, withTimeout } from '../../src/runtime/timers.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { startEngine } from '../helpers/fake-engine.ts';
import { messages, rejection } from '../helpers/sender.ts';

const never = new Promise<never>(() => {});

function limited() {
  const clock = createFakeClock();
  const stop = new AbortController();
  return { clock, stop, limit: { clock, signal: stop.signal } };
}

describe('a wait of at most 10 s', () => {
  test.each([[undefined], [5]])('returns the answer %j and leaves no timer', async (value) => {
    const { clock, limit } = limited();
    expect(await withTimeout(Promise.resolve(value), limit)).toEqual({ value });
    expect(clock.pending).toBe(0);
  });

  test('accepts an answer at the last moment, but not later', async () => {
    const { clock, limit } = limited();
    const answerAfter = async (ms: number): Promise<string> => {
      await clock.sleepUnref(ms);
      return 'answer';
    };
    expect(await clock.runUntilSettled(withTimeout(answerAfter(9999), limit))).toEqual({
      value: 'answer',
    });
    expect(await clock.runUntilSettled(withTimeout(answerAfter(10_001), limit))).toBeUndefined();
  });

  test('rejects like the work', async () => {
    const { clock, limit } = limited();
    const error = new Error('away');
    expect(await rejection(withTimeout(Promise.reject(error), limit))).toBe(error);
    expect(clock.pending).toBe(0);
  });

  test('ends with its signal, and removes its listener', async () => {
    const { clock, stop, limit } = limited();
    const waiting = withTimeout(never, limit);
    stop.abort();
    expect(await waiting).toBeUndefined();
    expect(clock.pending).toBe(0);
    expect(await withTimeout(never, limit)).toBeUndefined();
  });
});

describe('a settings lookup of intake', () => {
  test('rejects after 10 s without an answer, with the messages as input', async () => {
    const { sender, clock } = startEngine({ destination: { settings: () => never } });
    const given = messages(2);
    const sending = rejection(sender.send(given));
    const flushing = sender.flush();
    await clock.advance(9999);
    expect(await sender.stats()).toMatchObject({ accepted: 0 });
    await clock.advance(1);
    const error = await sending;
    expect(error).toMatchObject({
      code: 'ERR_SETTINGS_FAILED',
      path: ['settings', 'applications', 'shop-1'],
      cause: { message: 'no answer within 10 s' },
      input: given,
    });
    expect(await flushing).toMatchObject({ delivered: 0, pending: 0 });
  });

  test('shares one listener on the signal with many waits', async () => {
    const { clock, stop, limit } = limited();
    const find = withSettingsTimeout((id) => (id === 'away' ? never : Promise.resolve(id)), limit);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    const waiting = Array.from({ length: 100 }, () => rejection(find('away')));
    expect(await find('shop-1')).toBe('shop-1');
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    stop.abort();
    for (const error of await Promise.all([...waiting, rejection(find('away'))])) {
      expect(error).toMatchObject({ code: 'ERR_SENDER_CLOSED' });
    }
    expect(clock.pending).toBe(0);
  });

  test('ends when the sender is closed', async () => {
    const { sender, clock } = startEngine({ destination: { settings: () => never } });
    const given = messages(1);
    const sending = rejection(sender.send(given));
    await clock.runUntilSettled(sender.close({ deadlineMs: 500 }));
    expect(await sending).toMatchObject({ code: 'ERR_SENDER_CLOSED', input: given });
  });

  test('has no limit if the settings are an object', async () => {
    const settings = { applications: { 'shop-1': { name: 'shop', environment: 'test' } } };
    const { sender, clock } = startEngine({
      destination: { settings },
      options: (time) => ({ role: 'enqueue', queue: createMemoryQueue({}, time) }),
    });
    let timers = 0;
    const { startTimer } = clock;
    Object.assign(clock, {
      startTimer: (...call: Parameters<typeof startTimer>) => {
        timers += 1;
        return startTimer(...call);
      },
    });
    await sender.send(messages(1));
    expect(timers).toBe(0);
  });
});

function createTimer() {
  const clock = createFakeClock();
  const timer = new WakeableTimer(clock);
  /** Returns how long a wait of `ms` takes. */
  const waited = async (ms: number): Promise<number> => {
    const startedAt = clock.monotonicMs();
    timer.begin();
    await clock.runUntilSettled(timer.wait(ms));
    return clock.monotonicMs() - startedAt;
  };
  return { clock, timer, waited };
}

describe('a wakeable timer', () => {
  test('resolves after its time, and leaves no timer', async () => {
    const { clock, waited } = createTimer();
    expect(await waited(500)).toBe(500);
    expect(await waited(20)).toBe(20);
    expect(clock.pending).toBe(0);
  });

  test('ends at once when it is woken, even before the wait starts', async () => {
    const { clock, timer } = createTimer();
    const startedAt = clock.monotonicMs();
    timer.begin();
    const wait = timer.wait(500);
    await clock.advance(100);
    timer.wake();
    await wait;
    timer.begin();
    timer.wake();
    expect(timer.isWoken).toBe(true);
    await timer.wait(500);
    timer.begin();
    expect(timer.isWoken).toBe(false);
    expect(clock.monotonicMs() - startedAt).toBe(100);
  });

  test('keeps one system timer over many wakes, and never a late one', async () => {
    const { clock, timer, waited } = createTimer();
    for (let time = 0; time < 100; time += 1) {
      timer.begin();
      const wait = timer.wait(1000);
      await clock.advance(1);
      timer.wake();
      await wait;
    }
    expect(clock.pending).toBe(1);
    // The first system timer still runs and ends the first long wait early, but not the next one.
    expect(await waited(5000)).toBe(900);
    expect(await waited(5000)).toBe(5000);
    timer.begin();
    const long = timer.wait(5000);
    timer.wake();
    await long;
    expect(await waited(10)).toBe(10);
    expect(clock.pending).toBe(0);
  });

  test('leaves no timer after its end', async () => {
    const { clock, timer } = createTimer();
    timer.begin();
    const wait = timer.wait(1000);
    timer.wake();
    await wait;
    timer.end();
    await clock.advance(0);
    expect(clock.pending).toBe(0);
  });
});
