import { describe, expect, test } from 'vitest';
import {
  type AttemptResult,
  blamesContent,
  type FailureCode,
  type Judgement,
  judgeAttempt,
  LARGE_BODY_BYTES,
} from '../../src/webhook/outcome.ts';

const sizeOf = (bytes: number, messageCount: number) => ({
  bytes,
  messageCount,
  largeBodyBytes: LARGE_BODY_BYTES,
});

const BATCH = sizeOf(5000, 7);
const LARGE = sizeOf(100_001, 7);
const NOT_QUITE_LARGE = sizeOf(100_000, 7);
const LARGE_PAIR = sizeOf(100_001, 2);
const LARGE_ALONE = sizeOf(100_001, 1);

const answered = (status: number): AttemptResult => ({
  kind: 'response',
  status,
  retryAfter: undefined,
  timings: { totalMs: 1 },
});

const DELIVERED: Judgement = { outcome: 'delivered', isRefusal: false };
const LATER: Judgement = { outcome: 'later', isRefusal: false };
const REFUSED: Judgement = { outcome: 'later', isRefusal: true };
const PAUSE: Judgement = { outcome: 'pause', isRefusal: false };
const CLOSE: Judgement = { outcome: 'close', isRefusal: true };
const SMALLER: Judgement = { outcome: 'smaller', isRefusal: false };
const DEAD: Judgement = { outcome: 'dead', isRefusal: false };

/** The judgement of every status for an ordinary request. */
const EXPECTED: readonly (readonly [from: number, to: number, judgement: Judgement])[] = [
  [100, 199, LATER],
  [200, 299, DELIVERED],
  [300, 399, LATER],
  [400, 407, REFUSED],
  [408, 408, LATER],
  [409, 409, REFUSED],
  [410, 410, CLOSE],
  [411, 412, REFUSED],
  [413, 413, SMALLER],
  [414, 424, REFUSED],
  [425, 425, LATER],
  [426, 428, REFUSED],
  [429, 429, PAUSE],
  [430, 499, REFUSED],
  [500, 502, LATER],
  [503, 503, PAUSE],
  [504, 999, LATER],
];

const STATUSES = EXPECTED.flatMap(([from, to, judgement]) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ status: from + index, judgement })),
);

const failed = (code: FailureCode): AttemptResult => ({
  kind: 'failure',
  code,
  detail: '',
  timings: { totalMs: 1 },
});

describe('judgeAttempt', () => {
  test('judges every status from 100 to 999 as the decisions say (D34, D72, D73)', () => {
    expect(STATUSES).toHaveLength(900);
    for (const { status, judgement } of STATUSES) {
      expect({ status, ...judgeAttempt(answered(status), BATCH) }).toStrictEqual({
        status,
        ...judgement,
      });
    }
  });

  test('blames the size of a large body of several messages for 400, 401, 403, 413 and 500', () => {
    for (const { status, judgement } of STATUSES) {
      const large = [400, 401, 403, 413, 500].includes(status) ? SMALLER : judgement;
      const alone = status === 413 ? DEAD : judgement;
      const sizes = [LARGE, LARGE_PAIR, NOT_QUITE_LARGE, LARGE_ALONE];
      const judged = sizes.map((size) => judgeAttempt(answered(status), size));
      expect([status, ...judged]).toEqual([status, large, large, judgement, alone]);
    }
  });

  test('uses the size limit of the caller', () => {
    expect(LARGE_BODY_BYTES).toBe(100_000);
    const size = { bytes: 300, messageCount: 2 };
    expect(judgeAttempt(answered(403), { ...size, largeBodyBytes: 300 })).toEqual(REFUSED);
    expect(judgeAttempt(answered(403), { ...size, largeBodyBytes: 299 })).toEqual(SMALLER);
    expect(judgeAttempt(answered(403), { ...LARGE, largeBodyBytes: 1_000_000 })).toEqual(REFUSED);
    expect(judgeAttempt(answered(404), { ...size, largeBodyBytes: 1 })).toEqual(REFUSED);
  });

  test('retries after a failure without a response, and blames neither size nor content', () => {
    expect(judgeAttempt(failed('dns'), LARGE)).toEqual(LATER);
    expect(blamesContent(failed('dns'))).toBe(false);
  });
});

describe('blamesContent', () => {
  test('returns true for 400, 422 and 500: a single message may be the cause (D74)', () => {
    const blaming = STATUSES.filter(({ status }) => blamesContent(answered(status)));
    expect(blaming.map(({ status }) => status)).toEqual([400, 422, 500]);
  });
});
