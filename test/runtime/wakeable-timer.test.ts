import { describe, expect, test } from 'vitest';
import { WakeableTimer } from '../../src/runtime/timers.ts';
import { createFakeClock } from '../../src/testing/index.ts';

function resting() {
  const clock = createFakeClock();
  const rest = new WakeableTimer(clock);
  /** How long it waits, when asked for `ms`. */
  const waited = async (ms: number): Promise<number> => {
    const startedAt = clock.monotonicMs();
    rest.begin();
    await clock.runUntilSettled(rest.wait(ms));
    return clock.monotonicMs() - startedAt;
  };
  return { clock, rest, waited };
}

describe('a rest', () => {
  test('is over when its time is, and leaves no wait', async () => {
    const { clock, waited } = resting();
    expect(await waited(500)).toBe(500);
    expect(await waited(20)).toBe(20);
    expect(clock.pending).toBe(0);
  });

  test('ends at once when it is woken, also before it has begun', async () => {
    const { clock, rest } = resting();
    const startedAt = clock.monotonicMs();
    rest.begin();
    const wait = rest.wait(500);
    await clock.advance(100);
    rest.wake();
    await wait;
    rest.begin();
    rest.wake();
    expect(rest.isWoken).toBe(true);
    await rest.wait(500);
    rest.begin();
    expect(rest.isWoken).toBe(false);
    expect(clock.monotonicMs() - startedAt).toBe(100);
  });

  test('has one alarm, however often it is woken, and never one that is too late', async () => {
    const { clock, rest, waited } = resting();
    for (let time = 0; time < 100; time += 1) {
      rest.begin();
      const wait = rest.wait(1000);
      await clock.advance(1);
      rest.wake();
      await wait;
    }
    expect(clock.pending).toBe(1);
    // The first alarm still stands: it ends a long wait too soon, which is the next one's no more.
    expect(await waited(5000)).toBe(900);
    expect(await waited(5000)).toBe(5000);
    rest.begin();
    const long = rest.wait(5000);
    rest.wake();
    await long;
    expect(await waited(10)).toBe(10);
    expect(clock.pending).toBe(0);
  });

  test('leaves nothing behind once it has ended', async () => {
    const { clock, rest } = resting();
    rest.begin();
    const wait = rest.wait(1000);
    rest.wake();
    await wait;
    rest.end();
    await clock.advance(0);
    expect(clock.pending).toBe(0);
  });
});
