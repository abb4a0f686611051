import { expect, test } from 'vitest';
import { Flushes, type FlushParts } from '../../src/delivery/flushes.ts';
import { LastFailures } from '../../src/delivery/report.ts';
import { Tracker } from '../../src/delivery/tracker.ts';
import { CallsInProgress } from '../../src/runtime/calls-in-progress.ts';
import { createFakeClock } from '../../src/testing/index.ts';

const GONE = { delivered: 0, dead: 0, discarded: 0, settledElsewhere: 1, pending: 0 };

/** Flushes of a sender that has accepted one message. */
function open(parts: Partial<FlushParts>) {
  const clock = createFakeClock();
  const calls = new CallsInProgress();
  const tracker = new Tracker(true);
  tracker.setBacklog({ pendingMessages: 0, dueMessages: 0, lastSequence: 0 });
  tracker.beginEnqueue(1)([1]);
  const flushes = new Flushes(
    {
      queue: { countPending: async () => 0 },
      tracker,
      clock,
      observe: () => {},
      isDelivering: true,
      openFailure: () => undefined,
      isInFlight: () => false,
      lastFailures: new LastFailures(),
      ...parts,
    },
    calls,
  );
  return { clock, calls, tracker, flushes };
}

/** A flush that waits for one message, which the queue has no more. */
function flushing(parts: Partial<FlushParts>) {
  const { clock, flushes } = open(parts);
  const startedAt = clock.monotonicMs();
  const flushed = flushes.flush({ deadlineMs: 60_000 });
  return { clock, flushed, tookMs: () => clock.monotonicMs() - startedAt };
}

test.each([
  ['within a second when nothing is in flight', false, 1000],
  ['within ten seconds while requests are in flight', true, 10_000],
])('flush finds out what another process has settled %s', async (_title, isInFlight, ms) => {
  const { clock, flushed, tookMs } = flushing({ isInFlight: () => isInFlight });
  expect(await clock.runUntilSettled(flushed)).toEqual(GONE);
  expect(tookMs()).toBe(ms);
});

test('a flush is shared after an earlier one has ended, until another call begins', async () => {
  const { clock, calls, tracker, flushes } = open({ queue: { countPending: async () => 1 } });
  const first = flushes.flush({});
  expect(flushes.flush({})).toBe(first);
  calls.end(calls.begin());
  const endCall = tracker.beginEnqueue(1);
  const second = flushes.flush({});
  expect(second).not.toBe(first);
  endCall([2]);
  tracker.recordSettled(1, 'delivered');
  expect(await clock.runUntilSettled(first)).toMatchObject({ delivered: 1, pending: 0 });
  expect(flushes.flush({})).toBe(second);
  tracker.recordSettled(2, 'delivered');
  await clock.runUntilSettled(second);
  const third = flushes.flush({});
  expect(third).not.toBe(second);
  expect(await clock.runUntilSettled(third)).toMatchObject({ delivered: 0, pending: 0 });
});
