import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterAttempt,
  afterMissing,
  type BreakerInput,
  type BreakerStep,
  type CircuitBreaker,
  circuitBreakerOf,
  initialState,
  isOfAnotherUrl,
  updateOf,
} from '../../src/delivery/circuit-breaker.ts';
import { DEFAULT_POLICY, type DeliveryPolicy } from '../../src/delivery/retry-policy.ts';
import { BREAKER, HASH, POLICY } from '../helpers/queues.ts';

const SECOND_MS = 1000;
const NOW = 10_000_000;

const least = () => 0;
const most = () => 1 - Number.EPSILON / 2;

const FAILURE: BreakerInput = {
  outcome: 'later',
  bodyBytes: 500,
  messageCount: 40,
  isTimeout: false,
  blamesDestination: true,
  isBisection: false,
  retryAfterMs: undefined,
  now: NOW,
};
const SUCCESS: BreakerInput = { ...FAILURE, outcome: 'delivered' };

const follow = (
  breaker: Partial<CircuitBreaker>,
  attempt: Partial<BreakerInput>,
  { random = least, ...own }: Partial<DeliveryPolicy> & { readonly random?: () => number } = {},
): BreakerStep =>
  afterAttempt(
    { ...BREAKER, ...breaker },
    { ...FAILURE, ...attempt },
    { policy: { ...POLICY, ...own }, random },
  );

const OPEN: Partial<CircuitBreaker> = { health: 'failing', isOpen: true, failures: 5, probes: 1 };

test('a new circuit breaker has the state that a queue is opened with: cautious, and without a state', () => {
  expect(initialState(POLICY)).toEqual({
    health: 'untried',
    maxMessages: 100,
    maxBytes: 1_048_576,
    circuitBreaker: null,
  });
});

const stateWith = (breaker: object | null) => ({
  ...initialState(POLICY),
  circuitBreaker: breaker as never,
});

describe('the circuit breaker of a state', () => {
  test('is new before the first settlement', () => {
    expect(circuitBreakerOf(stateWith(null), HASH, POLICY)).toEqual(BREAKER);
    expect(isOfAnotherUrl(stateWith(null), HASH)).toBe(false);
  });

  test('is new for another URL, which has not failed yet (D72)', () => {
    const stored = { ...BREAKER, failures: 3, urlHash: 'of another' };
    expect(circuitBreakerOf(stateWith(stored), HASH, POLICY)).toEqual(BREAKER);
    expect(isOfAnotherUrl(stateWith(stored), HASH)).toBe(true);
  });

  test('is completed if an older version of this library wrote it', () => {
    const state = stateWith({ urlHash: HASH, failures: 2 });
    expect(circuitBreakerOf(state, HASH, POLICY)).toEqual({ ...BREAKER, failures: 2 });
    expect(isOfAnotherUrl(state, HASH)).toBe(false);
  });
});

describe('a success', () => {
  test('makes the destination healthy and forgets its failures', () => {
    const breaker = {
      health: 'failing',
      failures: 4,
      bisectionFailures: 7,
      goneAt: 5,
      missing: 2,
    } as const;
    expect(follow(breaker, SUCCESS)).toEqual({
      breaker: {
        ...BREAKER,
        health: 'healthy',
        bytes: { max: 1_048_576, passed: 500, successes: 0 },
        messages: { max: 1000, passed: 40, successes: 0 },
      },
      pauseMs: 0,
      changes: [],
    });
  });

  test('of a probe brings an open destination back, slowly', () => {
    const { breaker, pauseMs, changes } = follow(OPEN, SUCCESS);
    expect(changes).toEqual(['recovered']);
    expect(pauseMs).toBe(SECOND_MS);
    expect(breaker).toMatchObject({
      health: 'healthy',
      isOpen: false,
      failures: 0,
      probes: 0,
      recoveredAt: NOW,
    });
  });

  test.each([
    [1000, 500, 1000],
    [8999, 4, 1000],
    [9000, 0, 1000],
    [16, 2, 8],
  ])('%i ms after a recovery is followed by a wait of %i ms, in steps of %i (D75)', (...row) => {
    const [sinceMs, pauseMs, slowStartStepMs] = row;
    const recoveredAt = NOW - sinceMs;
    const step = follow({ health: 'healthy', recoveredAt }, SUCCESS, { slowStartStepMs });
    expect(step.pauseMs).toBe(pauseMs);
    expect(step.breaker.recoveredAt).toBe(pauseMs === 0 ? null : recoveredAt);
    expect(step.changes).toEqual([]);
  });
});

describe('a failure', () => {
  test('moves the destination to the failing ones, at first without a wait', () => {
    expect(follow({ missing: 3 }, {})).toEqual({
      breaker: { ...BREAKER, health: 'failing', failures: 1 },
      pauseMs: 0,
      changes: [],
    });
  });

  test('opens it as the fifth in a row, and not before', () => {
    expect(follow({ failures: 3 }, {})).toMatchObject({
      breaker: { failures: 4, isOpen: false, probes: 0 },
      pauseMs: 0,
      changes: [],
    });
    expect(follow({ failures: 4 }, {})).toMatchObject({
      breaker: { failures: 5, isOpen: true, probes: 1, health: 'failing' },
      pauseMs: 5 * SECOND_MS,
      changes: ['opened'],
    });
  });

  test.each<[string, Partial<CircuitBreaker>, Partial<BreakerInput>, object]>([
    [
      'does not open it if the message is at fault (D74, D75)',
      { failures: 4 },
      { blamesDestination: false },
      { breaker: { failures: 4, isOpen: false, health: 'failing' }, pauseMs: 0 },
    ],
    [
      'leaves it open, whoever is at fault',
      OPEN,
      { blamesDestination: false },
      { breaker: { isOpen: true, probes: 2, failures: 5 }, pauseMs: 30 * SECOND_MS },
    ],
    [
      'during a slow start restarts it',
      { recoveredAt: NOW - 3500, health: 'healthy' },
      {},
      { breaker: { recoveredAt: NOW, failures: 1 }, pauseMs: SECOND_MS },
    ],
  ])('%s', (_title, breaker, attempt, step) => {
    expect(follow(breaker, attempt)).toMatchObject({ ...step, changes: [] });
  });

  test.each([
    [1, 30],
    [3, 300],
    [500, 300],
  ])('after %i probes waits for the next one %i s: by the schedule, at most 5 min', (probes, s) => {
    const step = follow({ ...OPEN, probes }, {});
    expect(step.pauseMs).toBe(s * SECOND_MS);
    expect(step.breaker.probes).toBe(probes + 1);
    expect(follow({ ...OPEN, probes }, {}, { random: most }).pauseMs).toBe(s * 1250);
  });

  test.each<[string, Partial<DeliveryPolicy>, number]>([
    ['1 s where the delay is 0', { schedule: { delaysMs: [0], horizonMs: 1 } }, 1000],
    [
      'the shortest wait that is set',
      { minProbeWaitMs: 40, schedule: { delaysMs: [0], horizonMs: 1 } },
      40,
    ],
    ['the longest wait where the shortest is longer', { maxProbeWaitMs: 999 }, 999],
    ['the longest wait without delays', { schedule: { delaysMs: [], horizonMs: 1 } }, 300_000],
  ])('probes after %s', (_title, own, pauseMs) => {
    expect(follow({ ...OPEN, probes: 3 }, {}, own).pauseMs).toBe(pauseMs);
  });
});

test.each<[string, Partial<CircuitBreaker>, Partial<BreakerInput>, number, readonly string[]]>([
  ['gets it', {}, { outcome: 'pause', retryAfterMs: 7000 }, 7000, ['paused']],
  ['gets none for 0', {}, { outcome: 'pause', retryAfterMs: 0 }, 0, []],
  ['gets none with another status', {}, { retryAfterMs: 7000 }, 0, []],
  ['gets a probe’s longer wait', OPEN, { outcome: 'pause', retryAfterMs: 9 }, 30_000, ['paused']],
  ['gets the longer pause', OPEN, { outcome: 'pause', retryAfterMs: 31_000 }, 31_000, ['paused']],
  [
    'is opened and paused',
    { failures: 4 },
    { outcome: 'pause', retryAfterMs: 6000 },
    6000,
    ['opened', 'paused'],
  ],
])('a receiver that asks for a pause %s', (_title, breaker, attempt, pauseMs, changes) => {
  expect(follow(breaker, attempt)).toMatchObject({ pauseMs, changes });
});

describe('410', () => {
  test('said once is a failure that is remembered (D72)', () => {
    expect(follow({}, { outcome: 'close' })).toMatchObject({
      breaker: { goneAt: NOW, health: 'failing', failures: 1 },
      changes: [],
    });
  });

  test.each([
    [59_999, 'failing', []],
    [60_000, 'closed', ['closed']],
  ])('said again after %i ms leaves it %s', (sinceMs, health, changes) => {
    const goneAt = NOW - sinceMs;
    const step = follow({ health: 'failing', goneAt }, { outcome: 'close' });
    expect(step).toMatchObject({ breaker: { health, goneAt }, pauseMs: 0, changes });
  });

  test('closes nothing with a failure of another kind, however long ago it was', () => {
    const goneAt = NOW - 60_000;
    const step = follow({ health: 'failing', goneAt }, {});
    expect(step).toMatchObject({ breaker: { health: 'failing', goneAt }, changes: [] });
  });

  test('is remembered over other failures, and forgotten after a success', () => {
    const goneAt = NOW - 1;
    expect(follow({ goneAt }, {}).breaker.goneAt).toBe(goneAt);
    expect(follow({ goneAt }, { outcome: 'smaller' }).breaker.goneAt).toBe(goneAt);
    expect(follow({ goneAt }, SUCCESS).breaker.goneAt).toBeNull();
  });
});

test.each(['smaller', 'dead'] as const)(
  'a body that was too large (%s) teaches the budget and is no failure',
  (outcome) => {
    expect(follow({ missing: 1, failures: 2 }, { outcome, bodyBytes: 8000 })).toEqual({
      breaker: { ...BREAKER, failures: 2, bytes: { max: 4000, passed: 0, successes: 0 } },
      pauseMs: 0,
      changes: [],
    });
  },
);

test('an open destination that answers 413 stays open, and is probed at the times of a failing one', () => {
  const step = follow(OPEN, { outcome: 'dead' });
  expect(step.breaker).toMatchObject({ isOpen: true, probes: 2, failures: 5 });
  expect(step.pauseMs).toBe(30 * SECOND_MS);
  expect(step.changes).toEqual([]);
});

test.each([
  [0, 5],
  [1, 30],
])(
  'a destination that is missing for the time after %i others is asked again after %i s (D72)',
  (missing, s) => {
    const state = stateWith({ ...BREAKER, missing });
    expect(afterMissing(state, { policy: POLICY, random: least })).toEqual({
      ...stateWith({ ...BREAKER, missing: missing + 1 }),
      pauseMs: s * SECOND_MS,
    });
  },
);

describe('the update of a state', () => {
  test.each<[string, Partial<CircuitBreaker>, number]>([
    ['untried', {}, 100],
    ['healthy', { health: 'healthy' }, 1000],
    ['open', OPEN, 1],
    ['failing and gets smaller requests', { messages: { max: 7, passed: 0, successes: 0 } }, 7],
  ])('of a destination that is %s', (_title, own, maxMessages) => {
    const breaker = { ...BREAKER, ...own, bytes: { max: 77, passed: 1, successes: 2 } };
    expect(updateOf({ breaker, pauseMs: 9 }, POLICY)).toEqual({
      health: breaker.health,
      maxMessages,
      // Without the brackets of the body.
      maxBytes: 75,
      pauseMs: 9,
      circuitBreaker: breaker,
    });
  });

  const anyAttempt: fc.Arbitrary<Partial<BreakerInput>> = fc.record({
    outcome: fc.constantFrom('delivered', 'later', 'smaller', 'pause', 'close', 'dead'),
    bodyBytes: fc.integer({ min: 2, max: DEFAULT_POLICY.maxBodyBytes }),
    blamesDestination: fc.boolean(),
    isBisection: fc.boolean(),
    retryAfterMs: fc.option(fc.nat({ max: 86_400_000 }), { nil: undefined }),
  });

  test('stays within the limits of the policy after any attempts', () => {
    const happening = fc.tuple(anyAttempt, fc.nat({ max: 400_000 }));
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 40 }), (happenings) => {
        let breaker: CircuitBreaker = BREAKER;
        let now = NOW;
        for (const [attempt, laterMs] of happenings) {
          now += laterMs;
          const step = follow(breaker, { ...attempt, now }, { random: most });
          const update = updateOf(step, POLICY);
          breaker = step.breaker;
          expect(update.maxBytes).toBeGreaterThanOrEqual(1);
          expect(update.maxBytes).toBeLessThanOrEqual(POLICY.maxBodyBytes);
          expect([1, POLICY.cautiousMaxMessages, POLICY.maxMessages]).toContain(update.maxMessages);
          expect(update.maxMessages > POLICY.cautiousMaxMessages).toBe(update.health === 'healthy');
          expect(update.pauseMs).toBeGreaterThanOrEqual(0);
          expect(Number.isInteger(update.pauseMs)).toBe(true);
          expect(breaker.isOpen && update.health === 'healthy').toBe(false);
        }
      }),
    );
  });
});

const learned = (max: number, passed = 0): Partial<CircuitBreaker> => ({
  messages: { max, passed, successes: 0 },
});

describe('a request that is not answered in time', () => {
  const timeout = { isTimeout: true, messageCount: 1000 };

  test('halves the messages of the next one, beside what a failure does', () => {
    const { breaker } = follow({}, timeout);
    expect(breaker).toMatchObject({ ...learned(500), health: 'failing', failures: 1 });
  });

  test('with a single message says that their number is not the cause', () => {
    expect(follow(learned(3), { ...timeout, messageCount: 1 }).breaker).toMatchObject(
      learned(1000),
    );
  });
});
