import { describe, expect, test } from 'vitest';
import { BREAKER, claimOf, POLICY } from '../helpers/queues.ts';
import { answered, failed, type SettledCase, settleAfter } from '../helpers/settlements.ts';

const retry = (afterMs: number, failures: number, more: object = {}): object => ({
  kind: 'retry',
  afterMs,
  retryState: { failures, refusals: 0, isBisecting: false, failedAlone: false, ...more },
});

describe('after an attempt', () => {
  test.each([
    ['is due again at it', 0, 'retry'],
    ['is dead past it', 1, 'dead'],
  ])(
    'that took its time, a message %s: the horizon is measured at the end',
    (_title, over, kind) => {
      // After its first failure it is due again after 5 s.
      const now = claimOf([]).nowMs + POLICY.schedule.horizonMs - 5000 + over;
      const { results } = settleAfter({ result: failed('dns'), now });
      expect(results).toMatchObject([{ kind }]);
    },
  );

  test('that was delivered every message is, and the destination is healthy', () => {
    expect(settleAfter({ messages: [null, { failures: 3 }] })).toEqual({
      outcome: 'delivered',
      results: [{ kind: 'delivered' }, { kind: 'delivered' }],
      state: {
        health: 'healthy',
        maxMessages: 1000,
        maxBytes: 1_048_574,
        pauseMs: 0,
        circuitBreaker: {
          ...BREAKER,
          health: 'healthy',
          bytes: { max: 1_048_576, passed: 400, successes: 0 },
          messages: { max: 1000, passed: 2, successes: 0 },
        },
      },
      changes: [],
    });
  });

  test('the policy says which body is large', () => {
    const refused = { messages: [null, null], result: answered(403) };
    expect(settleAfter({ ...refused, policy: { largeBodyBytes: 399 } }).outcome).toBe('smaller');
  });
});

describe('the failures that open a destination (D75)', () => {
  const ALONE = { failures: 2, failedAlone: true };
  const BISECTING = { failures: 1, isBisecting: true };

  test.each<[string, SettledCase, number]>([
    ['are those of requests', { messages: [null, null], result: answered(502) }, 1],
    ['are not those of a message failing alone', { messages: [ALONE], result: answered(500) }, 0],
    [
      'are those of a request in which such a message is not alone',
      { messages: [ALONE, null], result: answered(502) },
      1,
    ],
    ['are not those of a bisection', { messages: [BISECTING, null], result: answered(500) }, 0],
    ['but a bisection may meet one', { messages: [BISECTING, null], result: answered(502) }, 1],
    ['are those that may be of the content', { messages: [null, null], result: answered(500) }, 1],
  ])('%s', (_title, given, failures) => {
    expect(settleAfter(given).state.circuitBreaker).toMatchObject({ failures });
  });

  test.each<[string, SettledCase, number]>([
    ['blame the content', { messages: [BISECTING, null], result: answered(422) }, 4],
    ['say something else', { messages: [BISECTING], result: answered(404) }, 3],
    ['are of no bisection', { messages: [null, null], result: answered(422) }, 3],
  ])(
    'count towards the end of a bisection if they %s (D74)',
    (_title, given, bisectionFailures) => {
      const settlement = settleAfter({ ...given, breaker: { bisectionFailures: 3 } });
      expect(settlement.state.circuitBreaker).toMatchObject({ bisectionFailures });
    },
  );

  test('of a bisection end it with the twelfth in a row', () => {
    const bisecting = { messages: [BISECTING, BISECTING], result: answered(500) };
    const eleventh = settleAfter({ ...bisecting, breaker: { bisectionFailures: 10 } });
    expect(eleventh.results).toMatchObject([{ afterMs: 0, maxMessages: 1 }, { afterMs: 0 }]);
    const twelfth = settleAfter({ ...bisecting, breaker: { bisectionFailures: 11 } });
    expect(twelfth.results).toEqual([retry(30_000, 2), retry(30_000, 2)]);
  });
});

describe('an attempt that we ended ourselves', () => {
  test('says nothing about destination or messages, which are due again at once', () => {
    const retryState = { failures: 3, refusals: 1, isBisecting: false, failedAlone: false };
    const breaker = { health: 'failing', failures: 2 } as const;
    expect(
      settleAfter({ messages: [null, retryState], result: failed('aborted'), breaker }),
    ).toEqual({
      outcome: 'aborted',
      results: [retry(0, 0), { kind: 'retry', afterMs: 0, retryState }],
      state: {
        health: 'failing',
        maxMessages: 100,
        maxBytes: 1_048_574,
        pauseMs: 0,
        circuitBreaker: { ...BREAKER, ...breaker },
      },
      changes: [],
    });
  });

  test.each([
    [{ failedAlone: true }, 1],
    [{ isBisecting: true }, 3],
  ])('keeps the company of messages with %j', (own, count) => {
    const messages = Array.from({ length: count }, () => own);
    const { results } = settleAfter({ messages, result: failed('aborted') });
    const result = { ...retry(0, 0, own), maxMessages: count };
    expect(results).toEqual(messages.map(() => result));
  });
});
