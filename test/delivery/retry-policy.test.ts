import { describe, expect, test } from 'vitest';
import {
  DEFAULT_POLICY,
  DURABLE_HORIZON_MS,
  MEMORY_HORIZON_MS,
  senderSchedule,
} from '../../src/delivery/retry-policy.ts';

const HOUR_MS = 3_600_000;

/** D71 */
const DELAYS_MS = [
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
];

test('the default policy is that of the decisions', () => {
  expect(DEFAULT_POLICY).toEqual({
    schedule: { delaysMs: DELAYS_MS, repeatLast: true, horizonMs: 72 * HOUR_MS },
    maxBodyBytes: 1_048_576,
    maxMessages: 1000,
    cautiousMaxMessages: 100,
    refusedMaxAttempts: 6,
    largeBodyBytes: 100_000,
    bisectionMaxFailures: 12,
    openAfterFailures: 5,
    minProbeWaitMs: 1000,
    maxProbeWaitMs: 300_000,
    slowStartStepMs: 1000,
    goneConfirmMs: 60_000,
    growAfterSuccesses: 20,
  });
  expect([DURABLE_HORIZON_MS, MEMORY_HORIZON_MS]).toEqual([72 * HOUR_MS, HOUR_MS]);
});

describe('a schedule', () => {
  test.each<[string, unknown, object]>([
    ['that is not given', undefined, { delaysMs: DELAYS_MS, repeatLast: true, horizonMs: 9 }],
    [
      'with delays of its own ends with them',
      { delaysMs: [1, 2] },
      { delaysMs: [1, 2], repeatLast: false, horizonMs: 9 },
    ],
    [
      'with delays of its own may repeat the last one',
      { delaysMs: [1], repeatLast: true },
      { delaysMs: [1], repeatLast: true, horizonMs: 9 },
    ],
    [
      'whose keys are undefined',
      { delaysMs: undefined, repeatLast: undefined, horizonMs: undefined },
      { delaysMs: DELAYS_MS, repeatLast: true, horizonMs: 9 },
    ],
  ])('%s is complete', (_title, given, complete) => {
    expect(senderSchedule(given, 9)).toEqual(complete);
  });
});
