import { expect, it } from 'vitest';
import { SendTally, type Undelivered } from '../../../src/cli/send/send-tally.ts';

const undelivered = (line: number, status: number): Undelivered => ({
  line,
  reason: 'attempts-exhausted',
  status,
});

it('groups what was not delivered by its cause, with the first of each', () => {
  const tally = new SendTally();
  for (const [line, status] of [
    [1, 500],
    [2, 404],
    [3, 500],
  ] as const) {
    tally.addUndelivered(undelivered(line, status));
  }
  tally.addUndelivered({ line: 4, reason: 'attempts-exhausted', failure: 'dns' });
  tally.addUndelivered({ line: 5, reason: 'wait-too-long', status: 500 });
  expect(tally.groups.map(({ first, count }) => [first.line, count])).toEqual([
    [1, 2],
    [2, 1],
    [4, 1],
    [5, 1],
  ]);
  expect({ undelivered: tally.undelivered, listed: tally.listed.length }).toEqual({
    undelivered: 5,
    listed: 5,
  });
});

it('has a hundred groups at most, and one for the rest', () => {
  const tally = new SendTally();
  for (let line = 1; line <= 200; line += 1) tally.addUndelivered(undelivered(line, 300 + line));
  tally.addUndelivered(undelivered(201, 301));
  const counts = tally.groups.map(({ count }) => count);
  expect(counts).toEqual([2, ...Array.from({ length: 99 }, () => 1), 100]);
});

it('counts requests of all reports, those that were sent again, and bytes', () => {
  const tally = new SendTally();
  const request = { outcome: 'delivered', message_ids: ['a'], bytes: 10, durationMs: 1 } as const;
  for (const retry_count of [0, 1, 2]) {
    const requests = [{ ...request, retry_count }];
    tally.addReport({ ok: true, delivered: ['a', 'b'], undelivered: [], requests });
  }
  const { delivered, requests, resent, bytes } = tally;
  expect({ delivered, requests, resent, bytes }).toEqual({
    delivered: 6,
    requests: 3,
    resent: 2,
    bytes: 30,
  });
});
