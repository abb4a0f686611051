import { describe, expect, test } from 'vitest';
import {
  type ExplainedSchedule,
  explainSchedule,
  type ScheduleToExplain,
} from '../../src/delivery/retry-policy.ts';

const HOUR_MS = 3_600_000;

/** As `[attempt, earliest, latest]`, with `false` at the end where it may not be made. */
const shown = ({ attempts }: ExplainedSchedule): readonly unknown[] =>
  attempts.map(({ attempt, earliestMs, latestMs, isCertain }) =>
    isCertain ? [attempt, earliestMs, latestMs] : [attempt, earliestMs, latestMs, false],
  );

const FIRST_HOUR = [
  [1, 0, 0],
  [2, 5000, 6250],
  [3, 35_000, 43_750],
  [4, 155_000, 193_750],
  [5, 755_000, 943_750],
  [6, 2_555_000, 3_193_750],
] as const;

describe('the schedule of', () => {
  test.each([[undefined], [{}], [{ of: 'durable' }], [{ schedule: {} }]] as const)(
    'a durable queue has 13 or 14 attempts in 72 h, as %j',
    (what) => {
      const explained = explainSchedule(what);
      expect(shown(explained)).toEqual([
        ...FIRST_HOUR,
        [7, 6_155_000, 7_693_750],
        [8, 13_355_000, 16_693_750],
        [9, 27_755_000, 34_693_750],
        [10, 56_555_000, 70_693_750],
        [11, 99_755_000, 124_693_750],
        [12, 142_955_000, 178_693_750],
        [13, 186_155_000, 232_693_750],
        [14, 229_355_000, 72 * HOUR_MS, false],
      ]);
      expect(explained).toMatchObject({ end: 'horizon-passed', horizonMs: 72 * HOUR_MS });
    },
  );

  test('a queue in memory has 6 attempts in its hour', () => {
    const explained = explainSchedule({ of: 'memory' });
    expect(shown(explained)).toEqual(FIRST_HOUR);
    expect(explained).toMatchObject({ end: 'horizon-passed', horizonMs: HOUR_MS });
  });

  test('sendWebhook has 4 attempts and no horizon', () => {
    const explained = explainSchedule({ of: 'sendWebhook' });
    expect(shown(explained)).toEqual([
      [1, 0, 0],
      [2, 500, 625],
      [3, 2500, 3125],
      [4, 7500, 9375],
    ]);
    expect(explained.end).toBe('attempts-exhausted');
    expect(explained).not.toHaveProperty('horizonMs');
  });
});

describe('a schedule of your own', () => {
  test.each<[string, ScheduleToExplain, readonly unknown[], string]>([
    [
      'ends at its horizon, which jitter does not pass',
      { schedule: { delaysMs: [100], repeatLast: true, horizonMs: 320 } },
      [
        [1, 0, 0],
        [2, 100, 125],
        [3, 200, 250],
        [4, 300, 320, false],
      ],
      'horizon-passed',
    ],
    [
      'is certain of an attempt that is due at the horizon itself, at the latest',
      { schedule: { delaysMs: [100], repeatLast: true, horizonMs: 225 } },
      [
        [1, 0, 0],
        [2, 100, 125],
        [3, 200, 225],
      ],
      'horizon-passed',
    ],
    [
      'ends before a wait that is longer than one may be',
      { of: 'sendWebhook', schedule: { delaysMs: [100, 900], maxWaitMs: 110 } },
      [
        [1, 0, 0],
        [2, 100, 110],
      ],
      'wait-too-long',
    ],
  ])('%s', (_title, what, attempts, end) => {
    const explained = explainSchedule(what);
    expect(shown(explained)).toEqual(attempts);
    expect(explained.end).toBe(end);
  });

  test('is not listed for ever', () => {
    const explained = explainSchedule({ schedule: { delaysMs: [0], repeatLast: true } });
    expect(explained.attempts).toHaveLength(1000);
    expect(explained.attempts.at(-1)).toEqual({
      attempt: 1000,
      earliestMs: 0,
      latestMs: 0,
      isCertain: true,
    });
    expect(explained).toMatchObject({ end: 'list-full', horizonMs: 72 * HOUR_MS });
  });

  test.each<[unknown, readonly string[], string]>([
    [[], [], 'expected what to explain to be an object'],
    [{ delaysMs: [1] }, ['delaysMs'], 'unknown key "delaysMs" in what to explain'],
    [{ schedule: 5 }, ['schedule'], 'schedule'],
    [{ schedule: { delaysMs: [-1] } }, ['schedule', 'delaysMs'], 'schedule.delaysMs'],
    [
      { of: 'sendWebhook', schedule: { repeatLast: true } },
      ['schedule', 'horizonMs'],
      'schedule.repeatLast needs schedule.horizonMs',
    ],
  ])('is refused as %j', (what, path, says) => {
    const message: unknown = expect.stringContaining(says);
    expect(() => explainSchedule(what as ScheduleToExplain)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path, message }),
    );
  });
});
