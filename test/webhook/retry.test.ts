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

/** D71, as a queue's sender will use it. */
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

/** No limit by the status, and no Retry-After. */
const UNASKED = { maxAttempts: undefined, retryAfterMs: undefined };
const FIRST: FailedAttempt = { ...UNASKED, step: 0, acceptedAt: 1000, now: 1000 };
const least = () => 0;
const most = () => 1 - Number.EPSILON / 2;

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
  .map(({ agoMs, ...rest }) => ({ ...UNASKED, ...rest, now: rest.acceptedAt + agoMs }));

const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('the next attempt', () => {
  test.each<[string, RetrySchedule, Partial<FailedAttempt>, () => number, NextAttempt]>([
    ['comes after the first delay', DIRECT, {}, least, { kind: 'retry', at: 1500 }],
    ['comes after the second delay', DIRECT, { step: 1 }, least, { kind: 'retry', at: 3000 }],
    ['comes after the third delay', DIRECT, { step: 2 }, least, { kind: 'retry', at: 6000 }],
    [
      'is none after the last delay',
      DIRECT,
      { step: 3 },
      least,
      { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined },
    ],
    ['is up to a quarter later', DIRECT, {}, most, { kind: 'retry', at: 1625 }],
    ['is half as much later', DIRECT, { step: 1 }, () => 0.5, { kind: 'retry', at: 3250 }],
    [
      'is none without delays: exactly one attempt',
      { delaysMs: [] },
      {},
      least,
      { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined },
    ],
    [
      'is none without delays, though the last were repeated',
      { delaysMs: [], repeatLast: true, horizonMs: HOUR_MS },
      {},
      least,
      { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined },
    ],
    ['comes at once after 0', { delaysMs: [0] }, {}, most, { kind: 'retry', at: 1000 }],
    [
      'waits for Retry-After where it is longer',
      DIRECT,
      { retryAfterMs: 7000 },
      least,
      { kind: 'retry', at: 8000 },
    ],
    [
      'lengthens Retry-After, too',
      DIRECT,
      { retryAfterMs: 8000 },
      most,
      { kind: 'retry', at: 11_000 },
    ],
    [
      'waits for the schedule where Retry-After is shorter',
      DIRECT,
      { retryAfterMs: 400 },
      least,
      { kind: 'retry', at: 1500 },
    ],
    [
      'may wait for maxWaitMs',
      DIRECT,
      { retryAfterMs: 30_000 },
      least,
      { kind: 'retry', at: 31_000 },
    ],
    [
      'is not moved past maxWaitMs by chance',
      DIRECT,
      { retryAfterMs: 29_000 },
      most,
      { kind: 'retry', at: 31_000 },
    ],
    [
      'is none where Retry-After is longer than maxWaitMs',
      DIRECT,
      { retryAfterMs: 30_001 },
      least,
      { kind: 'dead', reason: 'wait-too-long', waitMs: 30_001 },
    ],
    [
      'is none where its delay is longer than maxWaitMs',
      { delaysMs: [501], maxWaitMs: 500 },
      { retryAfterMs: 1 },
      least,
      { kind: 'dead', reason: 'wait-too-long', waitMs: 501 },
    ],
    [
      'repeats the last delay',
      { delaysMs: [10, 20], repeatLast: true },
      { step: 100 },
      least,
      { kind: 'retry', at: 1020 },
    ],
    [
      'does not repeat without repeatLast',
      { delaysMs: [10, 20], repeatLast: false },
      { step: 2 },
      least,
      { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined },
    ],
    [
      'may come at the horizon',
      { delaysMs: [500], horizonMs: 700 },
      { now: 1200 },
      least,
      { kind: 'retry', at: 1700 },
    ],
    [
      'is not moved past the horizon by chance',
      { delaysMs: [500], horizonMs: 700 },
      { now: 1200 },
      most,
      { kind: 'retry', at: 1700 },
    ],
    [
      'is none past the horizon',
      { delaysMs: [500], horizonMs: 699 },
      { now: 1200 },
      least,
      { kind: 'dead', reason: 'horizon-passed', waitMs: 500 },
    ],
    [
      'is none where Retry-After leads past the horizon',
      { delaysMs: [500], horizonMs: 700 },
      { retryAfterMs: 701 },
      least,
      { kind: 'dead', reason: 'horizon-passed', waitMs: 701 },
    ],
    [
      'comes below the attempts that the status allows',
      QUEUE,
      { step: 4, maxAttempts: 6 },
      least,
      { kind: 'retry', at: 1_801_000 },
    ],
    [
      'is none when those attempts are made',
      QUEUE,
      { step: 5, maxAttempts: 6 },
      least,
      { kind: 'dead', reason: 'attempts-exhausted', waitMs: undefined },
    ],
  ])('%s', (_title, schedule, failed, random, next) => {
    expect(nextAttempt(schedule, { ...FIRST, ...failed }, random)).toEqual(next);
  });

  test('is never sooner than schedule and Retry-After, and at most a quarter later', () => {
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

  test('exists or not whatever chance says', () => {
    fc.assert(
      fc.property(anySchedule, anyFailure, anyRandom, (schedule, failed, chance) => {
        const next = nextAttempt(schedule, failed, () => chance);
        expect(next.kind).toBe(nextAttempt(schedule, failed, least).kind);
      }),
    );
  });

  test.each([
    ['least', least, 14],
    ['most', most, 13],
  ])(
    'of a queue ends within 72 hours, with the %s chance after %i attempts',
    (_what, random, attempts) => {
      const times: number[] = [];
      let next: NextAttempt = { kind: 'retry', at: 0 };
      for (let step = 0; next.kind === 'retry'; step += 1) {
        times.push(next.at);
        next = nextAttempt(QUEUE, { ...UNASKED, step, acceptedAt: 0, now: next.at }, random);
      }
      expect(next.reason).toBe('horizon-passed');
      expect(times.at(-1)).toBeLessThanOrEqual(72 * HOUR_MS);
      expect(times).toHaveLength(attempts);
    },
  );
});

describe('the end of a wait that no schedule gives', () => {
  test.each([
    [0, { kind: 'retry', at: 1000 }],
    [30_000, { kind: 'retry', at: 31_000 }],
    [30_001, { kind: 'dead', reason: 'wait-too-long', waitMs: 30_001 }],
  ])('of %i ms follows the same limits', (waitMs, next) => {
    expect(nextTime(DIRECT, { waitMs, acceptedAt: 1000, now: 1000 }, least)).toEqual(next);
  });

  test('has no limit where the schedule sets none', () => {
    const wait = { waitMs: 24 * HOUR_MS, acceptedAt: 0, now: 5 };
    expect(nextTime({ delaysMs: [] }, wait, least)).toEqual({
      kind: 'retry',
      at: 24 * HOUR_MS + 5,
    });
  });
});
