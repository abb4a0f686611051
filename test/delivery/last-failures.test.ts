import { expect, test } from 'vitest';
import { LastFailures } from '../../src/delivery/report.ts';

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
