import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type FailedAttempt,
  type NextAttempt,
  nextAttempt,
  nextTime,
  type RetrySchedule,
} from '../../src/webhook/retry.ts';

const HOUR_MS = 3_600_000;

/** The default schedule of a sender (D71). */
const QUEUE: RetrySchedule = {
  delaysMs: [
    5000,
    30_000,
    120_000,
    600_000,
    1_800_000,
    HOUR_MS,
    2 * HOUR_MS,
    4 * HOUR_MS,
    8 * HOUR_MS,
    12 * HOUR_MS,
  ],
  repeatLast: true,
  horizonMs: 72 * HOUR_MS,
};

const DIRECT: RetrySchedule = { delaysMs: [500, 2000, 5000], maxWaitMs: 30_000 };

/** Without a limit by status and without Retry-After. */
const NO_LIMITS = { maxAttempts: undefined, retryAfterMs: undefined };
const FIRST: FailedAttempt = { ...NO_LIMITS, step: 0, acceptedAt: 1000, now: 1000 };
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
      maxAttempts: fc.integer({ min: 1, max: 9 }),
      retryAfterMs: fc.nat({ max: 24 * HOUR_MS }),
      acceptedAt: fc.nat(),
      agoMs: fc.nat({ max: HOUR_MS }),
    },
    { requiredKeys: ['step', 'acceptedAt', 'agoMs'] },
  )
  .map(({ agoMs, ...rest }) => ({ ...NO_LIMITS, ...rest, now: rest.acceptedAt + agoMs }));

const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('the next attempt', () => {
  test.each<[string, RetrySchedule, Partial<FailedAttempt>, () => number, NextAttempt]>([
    ['comes after the first delay', DIRECT, {}, noJitter, { kind: 'retry', at: 1500 }],
    ['comes after the second delay', DIRECT, { step: 1 }, noJitter, { kind: 'retry', at: 3000 }],
    ['comes after the third delay', DIRECT, { step: 2 }, noJitter, { kind: 'retry', at: 6000 }],
    [
      'is none after the last delay',
      DIRECT,
      { step: 3 },
      noJitter,
      { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined },
    ],
    ['is up to a quarter later', DIRECT, {}, maxJitter, { kind: 'retry', at: 1625 }],
    ['is half as much later', DIRECT, { step: 1 }, () => 0.5, { kind: 'retry', at: 3250 }],
    [
      'is none without delays: exactly one attempt',
      { delaysMs: [] },
      {},
      noJitter,
      { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined },
    ],
    [
      'is none without delays, even with repeatLast',
      { delaysMs: [], repeatLast: true, horizonMs: HOUR_MS },
      {},
      noJitter,
      { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined },
    ],
    ['comes at once after 0', { delaysMs: [0] }, {}, maxJitter, { kind: 'retry', at: 1000 }],
    [
      'waits for Retry-After if it is longer',
      DIRECT,
      { retryAfterMs: 7000 },
      noJitter,
      { kind: 'retry', at: 8000 },
    ],
    [
      'adds jitter to Retry-After, too',
      DIRECT,
      { retryAfterMs: 8000 },
      maxJitter,
      { kind: 'retry', at: 11_000 },
    ],
    [
      'waits for the schedule if Retry-After is shorter',
      DIRECT,
      { retryAfterMs: 400 },
      noJitter,
      { kind: 'retry', at: 1500 },
    ],
    [
      'may wait for maxWaitMs',
      DIRECT,
      { retryAfterMs: 30_000 },
      noJitter,
      { kind: 'retry', at: 31_000 },
    ],
    [
      'is not moved past maxWaitMs by jitter',
      DIRECT,
      { retryAfterMs: 29_000 },
      maxJitter,
      { kind: 'retry', at: 31_000 },
    ],
    [
      'is none if Retry-After is longer than maxWaitMs',
      DIRECT,
      { retryAfterMs: 30_001 },
      noJitter,
      { kind: 'dead', reason: 'wait-too-long', waitMs: 30_001 },
    ],
    [
      'is none if its delay is longer than maxWaitMs',
      { delaysMs: [501], maxWaitMs: 500 },
      { retryAfterMs: 1 },
      noJitter,
      { kind: 'dead', reason: 'wait-too-long', waitMs: 501 },
    ],
    [
      'repeats the last delay',
      { delaysMs: [10, 20], repeatLast: true },
      { step: 100 },
      noJitter,
      { kind: 'retry', at: 1020 },
    ],
    [
      'does not repeat without repeatLast',
      { delaysMs: [10, 20], repeatLast: false },
      { step: 2 },
      noJitter,
      { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined },
    ],
    [
      'may come at the horizon',
      { delaysMs: [500], horizonMs: 700 },
      { now: 1200 },
      noJitter,
      { kind: 'retry', at: 1700 },
    ],
    [
      'is not moved past the horizon by jitter',
      { delaysMs: [500], horizonMs: 700 },
      { now: 1200 },
      maxJitter,
      { kind: 'retry', at: 1700 },
    ],
    [
      'is none past the horizon',
      { delaysMs: [500], horizonMs: 699 },
      { now: 1200 },
      noJitter,
      { kind: 'dead', reason: 'horizon-passed', waitMs: 500 },
    ],
    [
      'is none if Retry-After exceeds the horizon',
      { delaysMs: [500], horizonMs: 700 },
      { retryAfterMs: 701 },
      noJitter,
      { kind: 'dead', reason: 'horizon-passed', waitMs: 701 },
    ],
    [
      'comes while the status allows more attempts',
      QUEUE,
      { step: 4, maxAttempts: 6 },
      noJitter,
      { kind: 'retry', at: 1_801_000 },
    ],
    [
      'is none when those attempts are used up',
      QUEUE,
      { step: 5, maxAttempts: 6 },
      noJitter,
      { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined },
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

describe('a wait outside the schedule', () => {
  test.each([
    [0, { kind: 'retry', at: 1000 }],
    [30_000, { kind: 'retry', at: 31_000 }],
    [30_001, { kind: 'dead', reason: 'wait-too-long', waitMs: 30_001 }],
  ])('of %i ms follows the same limits', (waitMs, next) => {
    expect(nextTime(DIRECT, { waitMs, acceptedAt: 1000, now: 1000 }, noJitter)).toEqual(next);
  });

  test('has no limit if the schedule sets none', () => {
    const wait = { waitMs: 24 * HOUR_MS, acceptedAt: 0, now: 5 };
    expect(nextTime({ delaysMs: [] }, wait, noJitter)).toEqual({
      kind: 'retry',
      at: 24 * HOUR_MS + 5,
    });
  });
});
