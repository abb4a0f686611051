import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeliveryPolicy } from '../../src/delivery/retry-policy.ts';
import {
  type Progress,
  progressOf,
  type RequestEnd,
  resultsOf,
} from '../../src/delivery/settle.ts';
import type { MessageResult } from '../../src/queue/queue.ts';
import type { Judgement } from '../../src/webhook/outcome.ts';
import { claimed, POLICY } from '../helpers/queues.ts';

const HOUR_MS = 3_600_000;

const START: Progress = { failures: 0, refusals: 0, isBisecting: false, failedAlone: false };

const END: RequestEnd = {
  outcome: 'later',
  maxAttempts: undefined,
  blamesContent: false,
  retryAfterMs: undefined,
  isBisectionOver: false,
  lastAttempt: { status: 502 },
};

const least = () => 0;
const most = () => 1 - Number.EPSILON / 2;

interface Case {
  readonly progress?: Partial<Progress>;
  readonly end?: Partial<RequestEnd>;
  /** Of the request. */
  readonly count?: number;
  readonly ageMs?: number;
  readonly policy?: Partial<DeliveryPolicy>;
  readonly random?: () => number;
}

/** The result of the first of `count` messages that are alike. */
function judge({
  progress,
  end,
  count = 1,
  ageMs = 0,
  policy,
  random = least,
}: Case): MessageResult {
  const stored = progress === undefined ? null : { ...START, ...progress };
  const messages = Array.from({ length: count }, (_, index) =>
    claimed(`m-${index}`, { progress: stored, ageMs }),
  );
  const results = resultsOf(
    messages,
    { ...END, ...end },
    { policy: { ...POLICY, ...policy }, random, messageCount: count },
  );
  expect(results).toHaveLength(count);
  const [first] = results;
  expect(results).toEqual(messages.map(() => first));
  return first as MessageResult;
}

const retry = (
  afterMs: number,
  progress: Partial<Progress>,
  maxMessages?: number,
): MessageResult => ({
  kind: 'retry',
  afterMs,
  progress: { ...START, ...progress },
  ...(maxMessages === undefined ? {} : { maxMessages }),
});

const dead = (reason: string, gaveUp: { reason?: string; waitMs?: number } = {}): object => ({
  kind: 'dead',
  reason,
  lastAttempt: { status: 502 },
  gaveUp: { reason, waitMs: undefined, ...gaveUp },
});

const REFUSED: Judgement = { outcome: 'later', maxAttempts: 6 };
const CONTENT = { blamesContent: true } as const;
const REFUSED_CONTENT = { ...REFUSED, ...CONTENT };

test.each([
  [null, START],
  [{}, START],
  [{ failures: 3 }, { ...START, failures: 3 }],
  [
    { ...START, isBisecting: true },
    { ...START, isBisecting: true },
  ],
])('what %j left is read as progress', (progress, read) => {
  expect(progressOf({ progress })).toEqual(read);
});

describe('a message', () => {
  test.each<[string, Case, object]>([
    ['is delivered', { end: { outcome: 'delivered' }, count: 3 }, { kind: 'delivered' }],
    ['is dead where it is too large by itself', { end: { outcome: 'dead' } }, dead('too-large')],

    // D71
    ['is due again after the first delay', {}, retry(5000, { failures: 1 })],
    [
      'is due again after the next one',
      { progress: { failures: 3 }, ageMs: 200_000 },
      retry(600_000, { failures: 4 }),
    ],
    [
      'is due again after the last one, over and over',
      { progress: { failures: 11 }, ageMs: HOUR_MS },
      retry(12 * HOUR_MS, { failures: 12 }),
    ],
    ['waits for Retry-After', { end: { retryAfterMs: 9000 } }, retry(9000, { failures: 1 })],
    ['waits for the schedule', { end: { retryAfterMs: 4000 } }, retry(5000, { failures: 1 })],
    ['waits a little longer by chance', { random: () => 0.5 }, retry(5625, { failures: 1 })],
    [
      'is not due at once, even if the schedule says so: others have their turn (D72)',
      { policy: { schedule: { delaysMs: [0], horizonMs: HOUR_MS } } },
      retry(1, { failures: 1 }),
    ],
    [
      'is due at its horizon at the latest',
      { ageMs: 72 * HOUR_MS - 5000, random: most },
      retry(5000, { failures: 1 }),
    ],
    [
      'is dead where the next time would be past it',
      { ageMs: 72 * HOUR_MS - 4999 },
      dead('horizon-passed', { waitMs: 5000 }),
    ],
    [
      'is dead where Retry-After leads past it',
      { ageMs: HOUR_MS, end: { retryAfterMs: 71 * HOUR_MS + 1 } },
      dead('horizon-passed', { waitMs: 71 * HOUR_MS + 1 }),
    ],
    [
      'is dead where the wait is longer than its schedule allows',
      {
        end: { retryAfterMs: 8 },
        policy: { schedule: { delaysMs: [1], horizonMs: HOUR_MS, maxWaitMs: 7 } },
      },
      dead('horizon-passed', { reason: 'wait-too-long', waitMs: 8 }),
    ],
    [
      'is dead at the end of its schedule',
      {
        progress: { failures: 1 },
        policy: { schedule: { delaysMs: [1], horizonMs: HOUR_MS } },
      },
      dead('attempts-exhausted'),
    ],

    // D72
    [
      'that is refused has a refusal more',
      { end: REFUSED, count: 2 },
      retry(5000, { failures: 1, refusals: 1 }),
    ],
    [
      'that is refused for the fifth time is due again',
      { progress: { failures: 4, refusals: 4 }, end: REFUSED },
      retry(1_800_000, { failures: 5, refusals: 5 }),
    ],
    [
      'that is refused for the sixth time is dead',
      { progress: { failures: 5, refusals: 5 }, end: REFUSED },
      dead('attempts-exhausted'),
    ],
    [
      'that is refused as often as the policy says is dead',
      { end: REFUSED, policy: { refusedMaxAttempts: 1 } },
      dead('attempts-exhausted'),
    ],
    [
      'that failed otherwise in between keeps its refusals',
      { progress: { failures: 7, refusals: 5 } },
      retry(4 * HOUR_MS, { failures: 8, refusals: 5 }),
    ],

    // D73
    ['goes with half of the company', { end: { outcome: 'smaller' }, count: 9 }, retry(0, {}, 4)],
    ['goes alone from two', { end: { outcome: 'smaller' }, count: 2 }, retry(0, {}, 1)],
    ['goes alone from three', { end: { outcome: 'smaller' }, count: 3 }, retry(0, {}, 1)],
    [
      'keeps its progress meanwhile',
      { end: { outcome: 'smaller' }, count: 4, progress: { failures: 3, refusals: 2 } },
      retry(0, { failures: 3, refusals: 2 }, 2),
    ],
    [
      'goes then after Retry-After',
      { end: { outcome: 'smaller', retryAfterMs: 8000 }, count: 4 },
      retry(8000, {}, 2),
    ],
    [
      'goes then after Retry-After and a little more',
      { end: { outcome: 'smaller', retryAfterMs: 8000 }, count: 4, random: () => 0.5 },
      retry(9000, {}, 2),
    ],
    [
      'is dead where Retry-After leads past the horizon then',
      { end: { outcome: 'smaller', retryAfterMs: 8000 }, count: 4, ageMs: 72 * HOUR_MS - 7999 },
      dead('horizon-passed', { waitMs: 8000 }),
    ],

    // D74
    [
      'that may be at fault with others waits at first, and is not judged for it',
      { end: REFUSED_CONTENT, count: 8 },
      retry(5000, { failures: 1 }),
    ],
    [
      'that may be at fault with others for the second time is bisected at once',
      { end: REFUSED_CONTENT, count: 8, progress: { failures: 1 } },
      retry(0, { failures: 1, isBisecting: true }, 4),
    ],
    [
      'goes on being bisected',
      { end: REFUSED_CONTENT, count: 5, progress: { failures: 1, isBisecting: true } },
      retry(0, { failures: 1, isBisecting: true }, 2),
    ],
    [
      'that was not sent with these before is bisected where it already was elsewhere',
      { end: REFUSED_CONTENT, count: 4, progress: { isBisecting: true } },
      retry(0, { isBisecting: true }, 2),
    ],
    [
      'is bisected after Retry-After',
      { end: { ...CONTENT, retryAfterMs: 60 }, count: 8, progress: { failures: 1 } },
      retry(60, { failures: 1, isBisecting: true }, 4),
    ],
    [
      'that is at fault by itself is judged, and goes alone from now on',
      { end: REFUSED_CONTENT, progress: { failures: 1, isBisecting: true } },
      retry(30_000, { failures: 2, refusals: 1, failedAlone: true }, 1),
    ],
    [
      'that got 500 by itself goes alone, too',
      { end: CONTENT },
      retry(5000, { failures: 1, failedAlone: true }, 1),
    ],
    [
      'is judged once bisection is over, and is no longer bisected',
      {
        end: { ...REFUSED_CONTENT, isBisectionOver: true },
        count: 4,
        progress: { failures: 1, isBisecting: true },
      },
      retry(30_000, { failures: 2, refusals: 1 }),
    ],
    [
      'is dead by a shared failure once bisection is over',
      {
        end: { ...REFUSED_CONTENT, isBisectionOver: true },
        count: 4,
        progress: { failures: 5, refusals: 5 },
      },
      dead('attempts-exhausted'),
    ],
    [
      'whose bisection meets another failure keeps its company',
      { count: 4, progress: { failures: 1, isBisecting: true } },
      retry(30_000, { failures: 2, isBisecting: true }, 4),
    ],
    [
      'that failed alone goes alone whatever comes',
      { progress: { failures: 2, failedAlone: true } },
      retry(120_000, { failures: 3, failedAlone: true }, 1),
    ],
    [
      'that fails alone for another reason is not to blame',
      { end: REFUSED, progress: { failures: 1 } },
      retry(30_000, { failures: 2, refusals: 1 }),
    ],

    // D72: what pauses or closes a destination is a failure of its messages like others.
    ['is due again after a pause', { end: { outcome: 'pause' } }, retry(5000, { failures: 1 })],
    [
      'is due again after 410',
      { end: { outcome: 'close', maxAttempts: 6 } },
      retry(5000, { failures: 1, refusals: 1 }),
    ],
  ])('%s', (_title, given, result) => {
    expect(judge(given)).toEqual(result);
  });
});

test('messages that failed together are due together, however chance falls', () => {
  let calls = 0;
  const random = (): number => {
    calls += 1;
    return calls / 10;
  };
  const messages = [claimed('a'), claimed('b'), claimed('c')];
  const results = resultsOf(messages, END, { policy: POLICY, random, messageCount: 3 });
  expect(results).toEqual(messages.map(() => retry(5125, { failures: 1 })));
});

test('each message is judged by its own progress and age', () => {
  const messages = [
    claimed('young'),
    claimed('tried', { progress: { failures: 2 } }),
    claimed('old', { ageMs: 72 * HOUR_MS }),
  ];
  expect(resultsOf(messages, END, { policy: POLICY, random: least, messageCount: 3 })).toEqual([
    retry(5000, { failures: 1 }),
    retry(120_000, { failures: 3 }),
    dead('horizon-passed', { waitMs: 5000 }),
  ]);
});

type Retry = Extract<MessageResult, { kind: 'retry' }>;

/** For what is over, one that is always within the limits. */
const retryOf = (result: MessageResult): Pick<Retry, 'afterMs' | 'maxMessages'> =>
  result.kind === 'retry' ? result : { afterMs: 24 * HOUR_MS, maxMessages: 1 };

const anyProgress: fc.Arbitrary<Progress> = fc.record({
  failures: fc.nat({ max: 14 }),
  refusals: fc.nat({ max: 5 }),
  isBisecting: fc.boolean(),
  failedAlone: fc.boolean(),
});

const anyMessage = fc.record({
  progress: fc.option(anyProgress),
  ageMs: fc.nat({ max: 80 * HOUR_MS }),
});

const anyEnd: fc.Arbitrary<RequestEnd> = fc
  .record({
    outcome: fc.constantFrom('delivered', 'later', 'smaller', 'pause', 'close', 'dead'),
    maxAttempts: fc.option(fc.constant(6), { nil: undefined }),
    blamesContent: fc.boolean(),
    retryAfterMs: fc.option(fc.nat({ max: 24 * HOUR_MS }), { nil: undefined }),
    isBisectionOver: fc.boolean(),
  })
  .map((end) => ({ ...end, lastAttempt: { status: 1 } }));

const anyChance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('there is one result a message, none before Retry-After, none past the horizon, and halves only shrink', () => {
  fc.assert(
    fc.property(
      fc.array(anyMessage, { minLength: 1, maxLength: 12 }),
      anyEnd,
      anyChance,
      (given, end, chance) => {
        const messages = given.map((message, index) => claimed(`m-${index}`, message));
        const decision = { policy: POLICY, random: () => chance, messageCount: given.length };
        const results = resultsOf(messages, end, decision);
        expect(results).toHaveLength(messages.length);
        for (const [index, result] of results.entries()) {
          expect(JSON.parse(JSON.stringify(result))).toEqual(result);
          const { afterMs, maxMessages = messages.length } = retryOf(result);
          expect(afterMs).toBeGreaterThanOrEqual(end.retryAfterMs ?? 0);
          expect(Number.isInteger(afterMs)).toBe(true);
          expect(maxMessages).toBeLessThanOrEqual(messages.length);
          expect(maxMessages).toBeGreaterThanOrEqual(1);
          // What goes at once goes even then; and what is due at its horizon lets others go first.
          const isOver = result.kind !== 'retry' || afterMs <= 1;
          const dueMs = isOver ? 0 : (messages[index]?.ageMs ?? 0) + afterMs;
          expect(dueMs).toBeLessThanOrEqual(72 * HOUR_MS);
        }
      },
    ),
  );
});
