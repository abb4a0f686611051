import { expect, test } from 'vitest';
import { LastFailures } from '../../src/delivery/report.ts';
import { type AttemptReport, reportAttempt } from '../../src/delivery/report-attempt.ts';
import { settlementOf } from '../../src/delivery/settlement.ts';
import { Tracker } from '../../src/delivery/tracker.ts';
import type { Claim } from '../../src/queue/queue.ts';
import { BREAKER, claimOf, POLICY } from '../helpers/queues.ts';

const started = { applicationId: 'shop-1' } as AttemptReport['started'];

/** Reports one request with these messages, and returns what was reported. */
function report(messages: Claim['messages'], status: number) {
  const tracker = new Tracker(true);
  tracker.beginEnqueue(2)([1, 2]);
  const claim = { ...claimOf([]), messages };
  const timings = { totalMs: 1 };
  const attempted = {
    messages,
    claimedAtMs: 1000,
    breaker: BREAKER,
    result: { kind: 'response', status, retryAfter: undefined, timings } as const,
    bodyBytes: 100,
    retryAfterMs: undefined,
    now: 1000,
  };
  const settlement = settlementOf(attempted, { ...POLICY, goneConfirmMs: 0 }, () => 0);
  const closed: string[] = [];
  const events: unknown[] = [];
  const parts = {
    tracker,
    lastFailures: new LastFailures(),
    observe: (_: string, event: () => unknown) => void events.push(event()),
    onClosed: (id: string) => void closed.push(id),
  };
  const end = () => reportAttempt({ claim, attempted, settlement, started, isLost: false }, parts);
  return { end, tracker, closed, events };
}

test('a message whose event cannot be made still counts as settled, and closes its destination', () => {
  const [one] = claimOf([null]).messages;
  if (one === undefined) throw new Error('no message');
  const damaged = { ...one.stored, bytes: Buffer.from('{') };
  const messages = [1, 2].map((sequence) => ({ ...one, sequence, ageMs: 1e9, stored: damaged }));
  const { end, tracker, closed } = report(messages, 410);
  expect(end).toThrow('out of bounds');
  expect([tracker.pending, closed]).toEqual([0, ['shop-1']]);
});

test('an event has no fields for what is unknown of its request', () => {
  const { end, events } = report(claimOf([null]).messages, 200);
  end();
  expect(events).toStrictEqual([
    { ...started, outcome: 'delivered', status: 200, timings: { totalMs: 1 } },
  ]);
});

test('an event has an age of whole milliseconds, also with the clock of a database', () => {
  const messages = claimOf([null]).messages.map((one) => ({ ...one, ageMs: 1e9 + 0.84 }));
  const { end, events } = report(messages, 410);
  end();
  expect(events).toContainEqual(expect.objectContaining({ ageMs: 1_000_000_001 }));
});

test('a report of undelivered messages has the last failure of each destination', () => {
  const last = new LastFailures();
  last.record({ applicationId: 'a', status: 500 });
  last.record({ applicationId: 'b', failure: 'dns', detail: 'no such name' });
  last.record({ applicationId: 'a', status: 404 });
  expect(last.reportOf(1)).toEqual({
    failures: [
      { applicationId: 'b', failure: 'dns', detail: 'no such name' },
      { applicationId: 'a', status: 404 },
    ],
  });
});

test('a report has no failure if all was delivered, or no destination fails now', () => {
  const last = new LastFailures();
  last.record({ applicationId: 'a', because: 'unknown' });
  expect(last.reportOf(0)).toEqual({});
  last.remove('a');
  expect(last.reportOf(1)).toEqual({});
});

test('a thousand destinations are remembered, those that failed last', () => {
  const last = new LastFailures();
  for (let index = 0; index <= 1000; index += 1) {
    last.record({ applicationId: `app-${index}`, status: 500 });
  }
  const { failures = [] } = last.reportOf(1);
  expect(failures).toHaveLength(1000);
  expect(failures[0]?.applicationId).toBe('app-1');
});
