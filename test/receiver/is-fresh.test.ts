import { expect, test } from 'vitest';
import { isFresh } from '../../src/receiver/index.ts';
import { sampleMessage } from '../../src/testing/index.ts';

const SENT_AT = Date.UTC(2026, 10, 21, 10);
const sent = { ...sampleMessage('test'), date_created: '2026-11-21T11:00:00.000+01:00' };

test.each([
  ['after 5 minutes', SENT_AT + 300_000, undefined, true],
  ['after more than 5 minutes', SENT_AT + 300_001, undefined, false],
  ['by a clock that is 5 minutes behind', SENT_AT - 300_000, undefined, true],
  ['by a clock that is further behind', SENT_AT - 300_001, undefined, false],
  ['within a given tolerance', SENT_AT + 1000, 1000, true],
  ['beyond a given tolerance', SENT_AT + 1001, 1000, false],
])('a message that is received %s', (_when, now, toleranceMs, expected) => {
  expect(isFresh(sent, { now, toleranceMs })).toBe(expected);
});

test('a message with an unreadable time is not fresh', () => {
  const options = { toleranceMs: Number.MAX_SAFE_INTEGER };
  expect(isFresh({ date_created: 'yesterday' }, options)).toBe(false);
});

test('the default is the system time', () => {
  expect(isFresh({ date_created: new Date().toISOString() })).toBe(true);
  expect(isFresh(sent)).toBe(false);
});

test.each([-1, Number.NaN])('a tolerance of %j is refused', (toleranceMs) => {
  expect(() => isFresh(sent, { toleranceMs })).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['toleranceMs'] }),
  );
});
