import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type FailedAttempt,
  type NextAttempt,
  nextAttempt,
  type RetrySchedule,
} from '../../src/webhook/retry.ts';

const HOUR_MS = 3_600_000;

const DIRECT: RetrySchedule = { delaysMs: [500, 2000, 5000], maxWaitMs: 30_000 };

/** Without Retry-After. */
const FIRST: FailedAttempt = { step: 0, retryAfterMs: undefined, acceptedAt: 1000, now: 1000 };
const NO_DELAYS: RetrySchedule = { delaysMs: [], repeatLast: true, horizonMs: HOUR_MS };
const REPEATING: RetrySchedule = { delaysMs: [10, 20], repeatLast: true };
const upTo = (horizonMs: number): RetrySchedule => ({ delaysMs: [500], horizonMs });
const at = (ms: number): NextAttempt => ({ kind: 'retry', at: ms });
const EXHAUSTED: NextAttempt = { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined };
const noJitter = () => 0;
const maxJitter = () => 1 - Number.EPSILON / 2;

const anySchedule: fc.Arbitrary<RetrySchedule> = fc.record(
  {
    delaysMs: fc.array(fc.nat({ max: HOUR_MS }), { maxLength: 6 }),
    repeatLast: fc.boolean(),
    horizonMs: fc.nat({ max: 4 * HOUR_MS }),
    maxWaitMs: fc.nat({ max: 2 * HOUR_MS }),
  },
  { requiredKeys: ['delaysMs'] },
);

const anyFailure: fc.Arbitrary<FailedAttempt> = fc
  .record(
    {
      step: fc.nat({ max: 8 }),
      retryAfterMs: fc.nat({ max: 24 * HOUR_MS }),
      acceptedAt: fc.nat(),
      agoMs: fc.nat({ max: HOUR_MS }),
    },
    { requiredKeys: ['step', 'acceptedAt', 'agoMs'] },
  )
  .map(({ agoMs, ...rest }) => ({
    retryAfterMs: undefined,
    ...rest,
    now: rest.acceptedAt + agoMs,
  }));

const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('the next attempt', () => {
  test.each<[string, RetrySchedule, Partial<FailedAttempt>, () => number, NextAttempt]>([
    ['comes after the first delay', DIRECT, {}, noJitter, at(1500)],
    ['comes after the last delay', DIRECT, { step: 2 }, noJitter, at(6000)],
    ['is none after the last delay', DIRECT, { step: 3 }, noJitter, EXHAUSTED],
    ['is up to a quarter later', DIRECT, {}, maxJitter, at(1625)],
    ['is none without delays: exactly one attempt', { delaysMs: [] }, {}, noJitter, EXHAUSTED],
    ['is none without delays, even with repeatLast', NO_DELAYS, {}, noJitter, EXHAUSTED],
    ['comes at once after 0', { delaysMs: [0] }, {}, maxJitter, at(1000)],
    ['waits for a longer Retry-After', DIRECT, { retryAfterMs: 7000 }, noJitter, at(8000)],
    ['waits longer than Retry-After says', DIRECT, { retryAfterMs: 400 }, noJitter, at(1500)],
    ['may wait for maxWaitMs', DIRECT, { retryAfterMs: 30_000 }, noJitter, at(31_000)],
    ['keeps to maxWaitMs with jitter', DIRECT, { retryAfterMs: 29_000 }, maxJitter, at(31_000)],
    [
      'is none if Retry-After is longer than maxWaitMs',
      DIRECT,
      { retryAfterMs: 30_001 },
      noJitter,
      { kind: 'dead', reason: 'wait-too-long', waitMs: 30_001 },
    ],
    ['repeats the last delay', REPEATING, { step: 100 }, noJitter, at(1020)],
    ['may come at the horizon', upTo(700), { now: 1200 }, noJitter, at(1700)],
    ['keeps to the horizon with jitter', upTo(700), { now: 1200 }, maxJitter, at(1700)],
    [
      'is none past the horizon',
      upTo(699),
      { now: 1200 },
      noJitter,
      { kind: 'dead', reason: 'horizon-passed', waitMs: 500 },
    ],
  ])('%s', (_title, schedule, failed, random, next) => {
    expect(nextAttempt(schedule, { ...FIRST, ...failed }, random)).toEqual(next);
  });

  test('is never earlier than schedule and Retry-After, and at most a quarter later', () => {
    fc.assert(
      fc.property(anySchedule, anyFailure, anyRandom, (schedule, failed, chance) => {
        const next = nextAttempt(schedule, failed, () => chance);
        if (next.kind === 'dead') return;
        const { delaysMs, maxWaitMs = Infinity, horizonMs = Infinity } = schedule;
        const base = Math.max(
          delaysMs[failed.step] ?? delaysMs.at(-1) ?? 0,
          failed.retryAfterMs ?? 0,
        );
        const waitMs = next.at - failed.now;
        expect(waitMs).toBeGreaterThanOrEqual(base);
        expect(waitMs).toBeLessThanOrEqual(base * 1.25);
        expect(waitMs).toBeLessThanOrEqual(maxWaitMs);
        expect(next.at).toBeLessThanOrEqual(failed.acceptedAt + horizonMs);
        expect(Number.isInteger(next.at)).toBe(true);
      }),
    );
  });

  test('does not depend on jitter for whether it exists', () => {
    fc.assert(
      fc.property(anySchedule, anyFailure, anyRandom, (schedule, failed, chance) => {
        const next = nextAttempt(schedule, failed, () => chance);
        expect(next.kind).toBe(nextAttempt(schedule, failed, noJitter).kind);
      }),
    );
  });
});
