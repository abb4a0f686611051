import { describe, expect, onTestFinished, test } from 'vitest';
import { flushBeforeExit } from '../../src/delivery/flush-before-exit.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { startEngine } from '../helpers/fake-engine.ts';
import { messages } from '../helpers/sender.ts';

const listeners = (): NodeJS.BeforeExitListener[] => process.listeners('beforeExit');

/** What a process would do that has nothing else to do, with a `flush` that ends when it is told. */
function start(flushBeforeExitMs: number) {
  const clock = createFakeClock();
  const before = listeners();
  const state = { pending: 0, acceptedCount: 0 };
  const flushes: { signal: AbortSignal; end: () => void }[] = [];
  const takeOff = flushBeforeExit({
    flushBeforeExitMs,
    clock,
    tracker: state,
    flush: (signal) =>
      new Promise<void>((end) => {
        flushes.push({ signal, end });
        signal.addEventListener('abort', () => end());
      }),
  });
  onTestFinished(takeOff);
  const added = listeners().filter((listener) => !before.includes(listener));
  const exit = (): void => {
    // Not emitted: the test runner's own listeners are not to be told.
    for (const listener of added) listener(0);
  };
  return { clock, state, flushes, takeOff, added, exit };
}

describe('a process with nothing else to do', () => {
  test('is not listened to without a budget', () => {
    const { added, takeOff } = start(0);
    expect(added).toEqual([]);
    takeOff();
  });

  test('ends if nothing is pending', () => {
    const { state, exit, flushes, clock } = start(500);
    exit();
    state.acceptedCount = 3;
    exit();
    expect(flushes).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test('waits for what is pending, as long as its budget', async () => {
    const { state, exit, flushes, clock } = start(500);
    Object.assign(state, { pending: 1, acceptedCount: 1 });
    exit();
    expect(flushes).toHaveLength(1);
    await clock.advance(499);
    expect(flushes[0]?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(flushes[0]?.signal.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test('waits once for each lot of messages, so that it ends', async () => {
    const { state, exit, flushes, clock } = start(500);
    Object.assign(state, { pending: 2, acceptedCount: 2 });
    exit();
    await clock.advance(500);
    exit();
    expect(flushes).toHaveLength(1);
    state.acceptedCount = 3;
    exit();
    expect(flushes).toHaveLength(2);
    await clock.advance(500);
    exit();
    expect(flushes).toHaveLength(2);
  });

  test('causes no leak warning with many senders, and restores the limit of listeners', async () => {
    const limit = process.getMaxListeners();
    const warnings: Error[] = [];
    const take = (warning: Error): void => void warnings.push(warning);
    process.on('warning', take);
    process.setMaxListeners(listeners().length + 1);
    onTestFinished(() => {
      process.setMaxListeners(limit);
      process.off('warning', take);
    });
    const set = process.getMaxListeners();
    const senders = [start(500), start(500), start(500)];
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
    for (const { takeOff } of senders) takeOff();
    expect(process.getMaxListeners()).toBe(set);
  });

  test.each([0, Number.POSITIVE_INFINITY])(
    'keeps a limit of listeners that means none: %j',
    (none) => {
      const limit = process.getMaxListeners();
      process.setMaxListeners(none);
      onTestFinished(() => void process.setMaxListeners(limit));
      const { takeOff } = start(500);
      expect(process.getMaxListeners()).toBe(none);
      takeOff();
      expect(process.getMaxListeners()).toBe(none);
    },
  );

  test('does not lift a limit of one listener that the host sets meanwhile', () => {
    const limit = process.getMaxListeners();
    onTestFinished(() => void process.setMaxListeners(limit));
    const { takeOff } = start(500);
    process.setMaxListeners(1);
    takeOff();
    expect(process.getMaxListeners()).toBe(1);
  });

  test('is listened to until the sender removes its own listener', () => {
    const others = listeners();
    const { added, takeOff } = start(500);
    expect(added).toHaveLength(1);
    takeOff();
    takeOff();
    expect(listeners()).toEqual(others);
  });
});

test('a sender flushes before the process ends, as long as flushBeforeExitMs', async () => {
  const before = listeners();
  const { sender, clock } = startEngine({
    steps: [500],
    options: { flushBeforeExitMs: 500, schedule: { delaysMs: [600_000] } },
  });
  await sender.send(messages(1));
  await clock.advance(0);
  const timers = clock.pending;
  for (const listener of listeners()) if (!before.includes(listener)) listener(0);
  await clock.advance(499);
  expect(clock.pending).toBeGreaterThan(timers);
  await clock.advance(1);
  expect(clock.pending).toBe(timers);
});
