import { describe, expect, test } from 'vitest';
import { WakeableTimer } from '../../src/runtime/timers.ts';
import { createFakeClock } from '../../src/testing/index.ts';

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
