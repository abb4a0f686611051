import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/runtime/clock.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { Attempt } from '../../../src/webhook/http/attempt.ts';
import { failure } from '../../../src/webhook/http/errors.ts';
import type { Deadlines, Transport } from '../../../src/webhook/http/transport.ts';

const DEADLINES: Deadlines = { connectMs: 1, headersMs: 20, totalMs: 30 };

/** Starts an attempt on an inert connection. */
function startAttempt(deadlines = DEADLINES) {
  const clock = createFakeClock();
  const startTimer: Clock['startTimer'] = (ms, callback, reference) => {
    if (reference !== 'ref') throw new Error('deadlines must keep the process alive');
    return clock.startTimer(ms, callback, reference);
  };
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
    deadlines,
    maxResponseBytes: 10,
    clock: { ...clock, now: () => clock.now(), monotonicMs: () => clock.monotonicMs(), startTimer },
    onEnd: () => ends.push('over'),
  });
  attempt.start();
  return { attempt, clock, ends };
}

describe('an attempt', () => {
  test.each([
    ['for the response headers', DEADLINES, failure('headers-timeout', '20 ms')],
    [
      'for the whole attempt, if that is sooner',
      { ...DEADLINES, totalMs: 15 },
      failure('deadline', '15 ms'),
    ],
  ])('fails at its deadline: %s', async (_, deadlines, reason) => {
    const { attempt, clock, ends } = startAttempt(deadlines);
    const { signal } = attempt;
    const lastsMs = Math.min(deadlines.headersMs, deadlines.totalMs);
    await clock.advance(lastsMs - 1);
    expect(attempt.isOver).toBe(false);
    await clock.advance(1);
    expect(await attempt.result).toMatchObject(reason);
    expect(signal.aborted).toBe(true);
    expect(clock.pending).toBe(0);
    expect(ends).toEqual(['broken', 'over']);
  });

  test.each([[30], [20], [10]])(
    'has its total deadline alone after the response headers, and keeps the status (headers: %d ms)',
    async (headersMs) => {
      const { attempt, clock, ends } = startAttempt({ ...DEADLINES, headersMs });
      await clock.advance(5);
      attempt.onResponseStart(null, 202, { 'retry-after': '7' });
      await clock.advance(24);
      expect(attempt.isOver).toBe(false);
      await clock.advance(1);
      expect(await attempt.result).toMatchObject({ status: 202, retryAfter: '7' });
      expect(clock.pending).toBe(0);
      expect(ends).toEqual(['broken', 'over']);
    },
  );

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
    const { attempt, clock, ends } = startAttempt();
    attempt.onResponseStart(null, 200, {});
    attempt.onResponseData(null, Buffer.alloc(10));
    attempt.onResponseEnd();
    expect(await attempt.result).toMatchObject({ status: 200 });
    expect(attempt.signal.aborted).toBe(false);
    expect(clock.pending).toBe(0);
    expect(ends).toEqual(['clean', 'over']);
  });
});
