import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type RetryState, retryStateOf } from '../../src/delivery/settlement.ts';
import type { MessageResult } from '../../src/queue/queue.ts';
import { answered, failed, type SettledCase, settleAfter } from '../helpers/settlements.ts';

const HOUR_MS = 3_600_000;

const START: RetryState = { failures: 0, refusals: 0, isBisecting: false, failedAlone: false };

interface Case extends Omit<SettledCase, 'messages' | 'result'> {
  /** Status of the response. Default 502. */
  readonly status?: number;
  /** Of all messages of the request. */
  readonly retryState?: Partial<RetryState>;
  readonly count?: number;
}

/** Returns the result of the first of `count` messages that are alike. */
function judge({ status = 502, retryState, count = 1, ...rest }: Case): MessageResult {
  const stored = retryState === undefined ? null : { ...START, ...retryState };
  const messages = Array.from({ length: count }, () => stored);
  const { results } = settleAfter({ messages, result: answered(status), ...rest });
  const [first] = results;
  expect(results).toEqual(messages.map(() => first));
  return first as MessageResult;
}

const retry = (
  afterMs: number,
  retryState: Partial<RetryState>,
  maxMessages?: number,
): MessageResult => ({
  kind: 'retry',
  afterMs,
  retryState: { ...START, ...retryState },
  ...(maxMessages === undefined ? {} : { maxMessages }),
});

const dead = (
  reason: string,
  status: number,
  gaveUp: { reason?: string; waitMs?: number } = {},
): object => ({
  kind: 'dead',
  reason,
  lastAttempt: { status },
  gaveUp: { reason, waitMs: undefined, ...gaveUp },
});

test.each([
  [{}, START],
  [{ failures: 3 }, { ...START, failures: 3 }],
  [
    { ...START, isBisecting: true },
    { ...START, isBisecting: true },
  ],
])('retry state is read from %j', (retryState, read) => {
  expect(retryStateOf({ retryState })).toEqual(read);
});

test.each<[string, Case, object]>([
  ['is delivered', { status: 200, count: 3 }, { kind: 'delivered' }],
  ['is dead if it alone is too large', { status: 413 }, dead('too-large', 413)],

  // D71
  ['is due again after the first delay', {}, retry(5000, { failures: 1 })],
  ['waits for Retry-After', { retryAfterMs: 9000 }, retry(9000, { failures: 1 })],
  [
    'is not due at once, even if the schedule says so: others have their turn (D72)',
    { policy: { schedule: { delaysMs: [0], horizonMs: HOUR_MS } } },
    retry(1, { failures: 1 }),
  ],
  [
    'is dead if its next attempt would be after the horizon',
    { ageMs: 72 * HOUR_MS - 4999 },
    dead('horizon-passed', 502, { waitMs: 5000 }),
  ],
  [
    'is dead if the wait is longer than its schedule allows',
    {
      retryAfterMs: 8,
      policy: { schedule: { delaysMs: [1], horizonMs: HOUR_MS, maxWaitMs: 7 } },
    },
    dead('horizon-passed', 502, { reason: 'wait-too-long', waitMs: 8 }),
  ],

  // D72
  [
    'that is refused for the fifth time is due again',
    { retryState: { failures: 4, refusals: 4 }, status: 404 },
    retry(1_800_000, { failures: 5, refusals: 5 }),
  ],
  [
    'that is refused for the sixth time is dead',
    { retryState: { failures: 5, refusals: 5 }, status: 404 },
    dead('attempts-exhausted', 404),
  ],
  [
    'that failed otherwise in between keeps its refusals',
    { retryState: { failures: 7, refusals: 5 } },
    retry(4 * HOUR_MS, { failures: 8, refusals: 5 }),
  ],

  // D73
  ['goes with half as many messages', { status: 413, count: 9 }, retry(0, {}, 4)],
  [
    'keeps its retry state meanwhile',
    { status: 413, count: 4, retryState: { failures: 3, refusals: 2 } },
    retry(0, { failures: 3, refusals: 2 }, 2),
  ],

  // D74
  [
    'that may be at fault with others waits at first, and is not judged for it',
    { status: 422, count: 8 },
    retry(5000, { failures: 1 }),
  ],
  [
    'that may be at fault with others for the second time is bisected at once',
    { status: 422, count: 8, retryState: { failures: 1 } },
    retry(0, { failures: 1, isBisecting: true }, 4),
  ],
  [
    'goes on being bisected',
    { status: 422, count: 5, retryState: { failures: 1, isBisecting: true } },
    retry(0, { failures: 1, isBisecting: true }, 2),
  ],
  [
    'is bisected after Retry-After',
    { status: 500, retryAfterMs: 60, count: 8, retryState: { failures: 1 } },
    retry(60, { failures: 1, isBisecting: true }, 4),
  ],
  [
    'that is at fault by itself is judged, and goes alone from now on',
    { status: 422, retryState: { failures: 1, isBisecting: true } },
    retry(30_000, { failures: 2, refusals: 1, failedAlone: true }, 1),
  ],
  [
    'is judged once bisection is over, and is no longer bisected',
    {
      status: 422,
      breaker: { bisectionFailures: 12 },
      count: 4,
      retryState: { failures: 1, isBisecting: true },
    },
    retry(30_000, { failures: 2, refusals: 1 }),
  ],
  [
    'is dead by a shared failure once bisection is over',
    {
      status: 422,
      breaker: { bisectionFailures: 12 },
      count: 4,
      retryState: { failures: 5, refusals: 5 },
    },
    dead('attempts-exhausted', 422),
  ],
  [
    'whose bisection meets another failure stays with the same messages',
    { count: 4, retryState: { failures: 1, isBisecting: true } },
    retry(30_000, { failures: 2, isBisecting: true }, 4),
  ],
  [
    'that failed alone goes alone after any failure',
    { retryState: { failures: 2, failedAlone: true } },
    retry(120_000, { failures: 3, failedAlone: true }, 1),
  ],
  [
    'that fails alone for another reason is not to blame',
    { status: 404, retryState: { failures: 1 } },
    retry(30_000, { failures: 2, refusals: 1 }),
  ],
])('a message %s', (_title, given, result) => {
  expect(judge(given)).toEqual(result);
});

test('messages that failed together are due together, with one jitter', () => {
  let calls = 0;
  const random = (): number => {
    calls += 1;
    return calls / 10;
  };
  const result = answered(502);
  const { results } = settleAfter({ messages: [null, null, null], result, random });
  // The first random number is that of the destination's pause.
  expect(results).toEqual([1, 2, 3].map(() => retry(5250, { failures: 1 })));
});

test('each message is judged by its own retry state', () => {
  const messages = [null, { failures: 2 }];
  expect(settleAfter({ messages, result: answered(502) }).results).toEqual([
    retry(5000, { failures: 1 }),
    retry(120_000, { failures: 3 }),
  ]);
});

type Retry = Extract<MessageResult, { kind: 'retry' }>;

/** For a message that is not retried, a result that is always within the limits. */
const retryOf = (result: MessageResult): Pick<Retry, 'afterMs' | 'maxMessages'> =>
  result.kind === 'retry' ? result : { afterMs: 24 * HOUR_MS, maxMessages: 1 };

const anyRetryState: fc.Arbitrary<RetryState> = fc.record({
  failures: fc.nat({ max: 14 }),
  refusals: fc.nat({ max: 5 }),
  isBisecting: fc.boolean(),
  failedAlone: fc.boolean(),
});

const anyCase = fc.record({
  messages: fc.array(fc.option(anyRetryState), { minLength: 1, maxLength: 12 }),
  ageMs: fc.nat({ max: 80 * HOUR_MS }),
  result: fc.oneof(
    fc.constantFrom(200, 404, 410, 413, 422, 429, 500, 502, 503).map(answered),
    fc.constantFrom('dns' as const, 'deadline' as const).map(failed),
  ),
  retryAfterMs: fc.option(fc.nat({ max: 24 * HOUR_MS }), { nil: undefined }),
  bisectionFailures: fc.nat({ max: 12 }),
  chance: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

test('each message gets a result: not due before Retry-After or after the horizon, in no larger request', () => {
  fc.assert(
    fc.property(anyCase, ({ bisectionFailures, chance, ...given }) => {
      const { messages, ageMs, retryAfterMs = 0 } = given;
      const random = (): number => chance;
      const { results } = settleAfter({ ...given, breaker: { bisectionFailures }, random });
      expect(results).toHaveLength(messages.length);
      for (const result of results) {
        expect(JSON.parse(JSON.stringify(result))).toEqual(result);
        const { afterMs, maxMessages = messages.length } = retryOf(result);
        expect(afterMs).toBeGreaterThanOrEqual(retryAfterMs);
        expect(Number.isInteger(afterMs)).toBe(true);
        expect(maxMessages).toBeLessThanOrEqual(messages.length);
        expect(maxMessages).toBeGreaterThanOrEqual(1);
        // A retry at once is made even after the horizon; one that is due at its horizon lets others go first.
        const isOver = result.kind !== 'retry' || afterMs <= 1;
        expect(isOver ? 0 : ageMs + afterMs).toBeLessThanOrEqual(72 * HOUR_MS);
      }
    }),
  );
});
