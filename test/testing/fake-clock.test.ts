import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';

const START_MS = Date.UTC(2026, 10, 21, 10);
const TIMED_OUT = { code: 'ERR_TIMED_OUT' };

/** Records when each wait ends. */
function logOf(clock: FakeClock) {
  const ended: string[] = [];
  const startedAt = clock.monotonicMs();
  const wait = async (name: string, ms: number, signal?: AbortSignal): Promise<void> => {
    await clock.sleep(ms, signal);
    ended.push(`${clock.monotonicMs() - startedAt}: ${name}`);
  };
  return { ended, wait };
}

describe('the time of a fake clock', () => {
  test('stands still at the given start', async () => {
    expect(createFakeClock().now()).toBe(START_MS);
    const clock = createFakeClock(1000);
    await turn();
    expect(clock.now()).toBe(1000);
  });

  test('moves equally on both clocks, whose origins differ', async () => {
    const clock = createFakeClock(1000);
    const startedAt = clock.monotonicMs();
    expect(startedAt).not.toBe(1000);
    await clock.advance(250);
    expect(clock.now()).toBe(1250);
    expect(clock.monotonicMs() - startedAt).toBe(250);
    await clock.advanceTo(2000);
    expect(clock.now()).toBe(2000);
    clock.elapse(5);
    expect([clock.now(), clock.monotonicMs() - startedAt]).toEqual([2005, 1005]);
  });

  test('can jump on the wall clock without changing waits', async () => {
    const clock = createFakeClock(1000);
    const { ended, wait } = logOf(clock);
    void wait('a', 100);
    clock.setWallClock(0);
    expect(clock.now()).toBe(0);
    await clock.advance(100);
    expect(clock.now()).toBe(100);
    expect(ended).toEqual(['100: a']);
  });

  test.each([Number.NaN, Number.NEGATIVE_INFINITY])('refuses the time %d', (time) => {
    const code = 'ERR_INVALID_OPTION';
    expect(() => createFakeClock(time)).toThrow(
      expect.objectContaining({ code, path: ['startMs'] }),
    );
    const clock = createFakeClock(1000);
    expect(() => clock.setWallClock(time)).toThrow(
      expect.objectContaining({ code, path: ['epochMs'] }),
    );
    expect(clock.now()).toBe(1000);
  });

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('refuses to move by %d', async (ms) => {
    const clock = createFakeClock(1000);
    const fault = expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['ms'] });
    await expect(clock.advance(ms)).rejects.toThrow(fault);
    await expect(clock.advanceTo(1000 + ms)).rejects.toThrow(fault);
    expect(() => clock.elapse(ms)).toThrow(fault);
    await expect(clock.runUntil(() => true, ms)).rejects.toMatchObject({ path: ['maxMs'] });
    expect(clock.now()).toBe(1000);
  });
});

describe('waits', () => {
  test.each(['sleep', 'sleepUnref'] as const)('by %s end when they are due', async (kind) => {
    const clock = createFakeClock();
    let isOver = false;
    void clock[kind](10).then(() => {
      isOver = true;
    });
    expect([clock.pending, clock.nextTimerInMs]).toEqual([1, 10]);
    await clock.advance(9);
    expect([isOver, clock.pending, clock.nextTimerInMs]).toEqual([false, 1, 1]);
    await clock.advance(1);
    expect([isOver, clock.pending, clock.nextTimerInMs]).toEqual([true, 0, undefined]);
  });

  test('end in the order of their due times, equal ones in the order of their start', async () => {
    const clock = createFakeClock();
    const { ended, wait } = logOf(clock);
    const waits = { a: 30, b: 10, c: 30, d: 20, e: 10 };
    for (const [name, ms] of Object.entries(waits)) void wait(name, ms);
    await clock.advance(100);
    expect(ended).toEqual(['10: b', '10: e', '20: d', '30: a', '30: c']);
    expect(clock.now()).toBe(START_MS + 100);
  });

  test('that start during a move can end in the same move', async () => {
    const clock = createFakeClock();
    const { ended, wait } = logOf(clock);
    const chain = async (): Promise<void> => {
      for (const name of ['a', 'b', 'c']) await wait(name, 10);
    };
    const done = chain();
    void wait('other', 15);
    await clock.advance(25);
    expect(ended).toEqual(['10: a', '15: other', '20: b']);
    await clock.advance(5);
    await done;
    expect(ended.at(-1)).toBe('30: c');
  });

  test.each([0, -5, 0.5, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY])(
    'of %d ms take 1 ms, like real timers',
    async (ms) => {
      const clock = createFakeClock();
      void clock.sleep(ms);
      expect(clock.nextTimerInMs).toBe(1);
      await clock.advance(1);
      expect(clock.pending).toBe(0);
    },
  );

  test.each([1, 1.5, 2 ** 31 - 1])('of %d ms take that long', (ms) => {
    const clock = createFakeClock();
    void clock.sleep(ms);
    expect(clock.nextTimerInMs).toBe(ms);
  });

  test('end when their signal is aborted', async () => {
    const clock = createFakeClock();
    const { ended, wait } = logOf(clock);
    const caller = new AbortController();
    const waiting = wait('aborted', 50, caller.signal);
    void wait('other', 50);
    await clock.advance(10);
    caller.abort(new Error('no reason to reject'));
    await waiting;
    await wait('too late', 50, caller.signal);
    expect(ended).toEqual(['10: aborted', '10: too late']);
    expect(clock.pending).toBe(1);
    await clock.advance(100);
    expect(ended.at(-1)).toBe('50: other');
    expect(clock.pending).toBe(0);
  });

  test('that are overdue end at the next move, in order', async () => {
    const clock = createFakeClock();
    const { ended, wait } = logOf(clock);
    void wait('late', 20);
    void wait('early', 10);
    clock.elapse(100);
    await turn();
    expect(ended).toEqual([]);
    expect(clock.nextTimerInMs).toBe(0);
    await clock.advance(0);
    expect(ended).toEqual(['100: early', '100: late']);
  });
});

describe('everything settles before the next wait ends:', () => {
  const DEPTH = 40;

  const chains: [string, () => Promise<void>][] = [
    [
      'microtasks within ticks',
      () =>
        new Promise((resolve) => {
          const step = (left: number): void => {
            if (left === 0) resolve();
            else queueMicrotask(() => process.nextTick(() => step(left - 1)));
          };
          step(DEPTH);
        }),
    ],
    [
      'immediates',
      async () => {
        for (let step = 0; step < DEPTH; step += 1) await turn();
      },
    ],
  ];

  test.each(chains)('chains of %s', async (_, chain) => {
    const clock = createFakeClock();
    const seen: string[] = [];
    void clock.sleep(10).then(async () => {
      await chain();
      seen.push(`settled at ${clock.now() - START_MS}`);
    });
    void clock.sleep(11).then(() => seen.push('next'));
    await clock.advance(11);
    expect(seen).toEqual(['settled at 10', 'next']);
  });

  test.each(chains)('%s also before the first wait', async (_, chain) => {
    const clock = createFakeClock();
    let endedAt: number | undefined;
    void (async () => {
      await chain();
      await clock.sleep(5);
      endedAt = clock.now() - START_MS;
    })();
    await clock.advance(5);
    expect(endedAt).toBe(5);
  });

  test('endless immediates are bounded', async () => {
    const clock = createFakeClock();
    let turns = 0;
    let next = setImmediate(function count() {
      turns += 1;
      next = setImmediate(count);
    });
    onTestFinished(() => clearImmediate(next));
    await clock.advance(5);
    expect(turns).toBeGreaterThan(90);
    expect(turns).toBeLessThan(110);
  });
});

describe('runUntil', () => {
  test('stops at the wait after which the condition holds', async () => {
    const clock = createFakeClock();
    const { ended, wait } = logOf(clock);
    for (const ms of [10, 20, 30]) void wait(String(ms), ms);
    await clock.runUntil(() => ended.length === 2);
    expect(ended).toEqual(['10: 10', '20: 20']);
    expect(clock.now()).toBe(START_MS + 20);
  });

  test('lets everything settle before it asks', async () => {
    const clock = createFakeClock();
    let isReady = false;
    void turn().then(() => {
      isReady = true;
    });
    void clock.sleep(10);
    await clock.runUntil(() => isReady);
    expect([clock.now(), clock.pending]).toEqual([START_MS, 1]);
  });

  test('rejects after maxMs', async () => {
    const clock = createFakeClock();
    const { ended, wait } = logOf(clock);
    void wait('a', 10);
    void wait('b', 11);
    await expect(clock.runUntil(() => ended.length === 2, 10)).rejects.toMatchObject(TIMED_OUT);
    expect(ended).toEqual(['10: a']);
  });

  test('rejects at once if no wait is left', async () => {
    await expect(createFakeClock().runUntil(() => false)).rejects.toMatchObject(TIMED_OUT);
  });

  test.each([
    [86_400_000, true],
    [86_400_001, false],
  ])('waits a day by default: %d ms', async (ms, isReached) => {
    const clock = createFakeClock();
    const { ended, wait } = logOf(clock);
    void wait('a', ms);
    const run = clock.runUntil(() => ended.length === 1).then(() => true);
    expect(await run.catch(() => false)).toBe(isReached);
  });
});

describe('runUntilSettled', () => {
  test('settles like the promise', async () => {
    const clock = createFakeClock();
    const work = clock.sleep(30).then(() => 'done');
    expect(await clock.runUntilSettled(work)).toBe('done');
    expect(clock.now()).toBe(START_MS + 30);
    const fault = new Error('failed');
    const failing = clock.sleep(5).then(() => Promise.reject(fault));
    await expect(clock.runUntilSettled(failing)).rejects.toBe(fault);
  });

  test('rejects if the promise settles too late, or never', async () => {
    const clock = createFakeClock();
    await expect(clock.runUntilSettled(clock.sleep(31), 30)).rejects.toMatchObject(TIMED_OUT);
    await clock.advance(31);
    await expect(clock.runUntilSettled(new Promise(() => {}))).rejects.toMatchObject(TIMED_OUT);
  });
});

test('concurrent moves never turn it back', async () => {
  const clock = createFakeClock();
  const { ended, wait } = logOf(clock);
  for (const ms of [10, 30, 60]) void wait(String(ms), ms);
  await Promise.all([clock.advance(60), clock.advance(20)]);
  expect(ended).toEqual(['10: 10', '30: 30', '60: 60']);
  expect(clock.now()).toBe(START_MS + 60);
});
