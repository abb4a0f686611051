import { expect, test } from 'vitest';
import { LastFailures } from '../../src/delivery/report.ts';
import { reportAttempt } from '../../src/delivery/report-attempt.ts';
import { settlementOf } from '../../src/delivery/settlement.ts';
import { Tracker } from '../../src/delivery/tracker.ts';
import { BREAKER, claimOf, POLICY } from '../helpers/queues.ts';

test('a message whose event cannot be made still counts as settled, and closes its destination', () => {
  const tracker = new Tracker(true);
  tracker.beginEnqueue(2)([1, 2]);
  const closed: string[] = [];
  const [one] = claimOf([null]).messages;
  if (one === undefined) throw new Error('no message');
  const damaged = { ...one.stored, bytes: Buffer.from('{') };
  const messages = [1, 2].map((sequence) => ({ ...one, sequence, ageMs: 1e9, stored: damaged }));
  const claim = { ...claimOf([]), messages };
  const timings = { totalMs: 1 };
  const attempted = {
    messages,
    claimedAtMs: 1000,
    breaker: BREAKER,
    result: { kind: 'response', status: 410, retryAfter: undefined, timings } as const,
    bodyBytes: 100,
    retryAfterMs: undefined,
    now: 1000,
  };
  const settlement = settlementOf(attempted, { ...POLICY, goneConfirmMs: 0 }, () => 0);
  const report = { claim, attempted, settlement, started: {} as never, isLost: false };
  const parts = {
    tracker,
    lastFailures: new LastFailures(),
    observe: (_: string, event: () => unknown) => void event(),
    onClosed: (id: string) => void closed.push(id),
  };
  expect(() => reportAttempt(report, parts)).toThrow('out of bounds');
  expect([tracker.pending, closed]).toEqual([0, ['shop-1']]);
});
