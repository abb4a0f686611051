import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/webhook/retry.ts';

/** Sun, 06 Nov 1994 08:49:37 GMT, the example of the RFC. */
const EXAMPLE = Date.UTC(1994, 10, 6, 8, 49, 37);
const NOW = Date.UTC(2026, 10, 21, 10, 0, 0);
const DAY_MS = 86_400_000;

describe('seconds', () => {
  test.each([
    ['0', 0],
    ['120', 120_000],
    [' 120\t', 120_000],
    ['86400', DAY_MS],
    ['86401', DAY_MS],
    ['9'.repeat(400), DAY_MS],
  ])('%s become %i ms, at most a day (D71)', (header, ms) => {
    expect(parseRetryAfter(header, NOW)).toBe(ms);
  });
});

describe('a date', () => {
  test.each([
    ['IMF-fixdate', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['RFC 850', 'Sunday, 06-Nov-94 08:49:37 GMT'],
    ['asctime', 'Sun Nov  6 08:49:37 1994'],
  ])('in the form %s becomes the time until then', (_form, header) => {
    expect(parseRetryAfter(header, EXAMPLE - 5500)).toBe(5500);
    expect(parseRetryAfter(header, EXAMPLE)).toBe(0);
    expect(parseRetryAfter(header, EXAMPLE + 1)).toBe(0);
    expect(parseRetryAfter(header, EXAMPLE - DAY_MS)).toBe(DAY_MS);
    expect(parseRetryAfter(header, EXAMPLE - DAY_MS - 1)).toBe(DAY_MS);
  });

  test.each([
    ['Sun Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
    ['Wed, 30 Nov 1994 23:59:60 GMT', Date.UTC(1994, 11, 1)],
    ['Thu, 31 Nov 1994 00:00:00 GMT', Date.UTC(1994, 11, 1)],
    ['Mon, 29 Feb 2028 00:00:00 GMT', Date.UTC(2028, 1, 29)],
  ])('%s is parsed', (header, time) => {
    expect(parseRetryAfter(header, time - 1234)).toBe(1234);
  });

  test('with a four-digit year means exactly that year', () => {
    expect(parseRetryAfter('Sat, 01 Jan 2400 00:00:00 GMT', NOW)).toBe(DAY_MS);
    expect(parseRetryAfter('Mon, 01 Jan 1900 00:00:00 GMT', NOW)).toBe(0);
  });

  test.each([
    [2026, '26', 2026],
    [2026, '76', 2076],
    [2026, '77', 1977],
    [2099, '49', 2149],
    [2099, '50', 2050],
    [2100, '00', 2100],
  ])('received in %i with the year %s means the year %i', (seenIn, digits, year) => {
    const before = Date.UTC(year, 6, 1) - 1000;
    const seen = Date.UTC(seenIn, 6, 1) - 1000;
    const header = `Friday, 01-Jul-${digits} 00:00:00 GMT`;
    const aheadMs = before + 1000 - seen;
    expect(parseRetryAfter(header, seen)).toBe(Math.min(Math.max(0, aheadMs), DAY_MS));
  });

  test('is parsed exactly for any month and time', () => {
    const anySecond = fc.integer({ min: 0, max: Date.UTC(2400, 0, 1) / 1000 });
    fc.assert(
      fc.property(anySecond, fc.integer({ min: 0, max: DAY_MS }), (second, aheadMs) => {
        const header = new Date(second * 1000).toUTCString();
        expect(parseRetryAfter(header, second * 1000 - aheadMs)).toBe(aheadMs);
      }),
    );
  });
});

describe('returns undefined for an invalid header', () => {
  test.each([
    ['no header', undefined],
    ['an empty one', ''],
    ['a negative number', '-1'],
    ['two values', '120, 120'],
    ['ISO 8601', '2026-11-21T10:00:10Z'],
    ['a short day in a long form', 'Sun, 06-Nov-94 08:49:37 GMT'],
    ['an unknown month', 'Sun, 06 Okt 1994 08:49:37 GMT'],
    ['one digit of a day', 'Sun, 6 Nov 1994 08:49:37 GMT'],
    ['day 32', 'Sun, 32 Nov 1994 08:49:37 GMT'],
    ['a zero before the day of asctime', 'Sun Nov 06 08:49:37 1994'],
    ['second 61', 'Sun, 06 Nov 1994 08:49:61 GMT'],
    ['a year of two digits', 'Sun, 06 Nov 94 08:49:37 GMT'],
    ['something before', 'x Sun, 06 Nov 1994 08:49:37 GMT'],
    ['something after', 'Sun, 06 Nov 1994 08:49:37 GMT x'],
  ])('%s', (_what, header) => {
    expect(parseRetryAfter(header, EXAMPLE - 1000)).toBeUndefined();
  });

  test('or a wait from 0 to a day, for any header', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.integer().map(String)), (header) => {
        const ms = parseRetryAfter(header, NOW) ?? 0;
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(DAY_MS);
      }),
    );
  });
});
