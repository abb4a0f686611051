import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { scheduledSecret } from '../../src/settings/scheduled-secret.ts';
import { thrownBy } from '../helpers/thrown-by.ts';

const CUT_OVER = Date.UTC(2026, 10, 21, 10);
const GIVEN = { current: 'before', next: 'after', nextFrom: '2026-11-21T10:00:00Z' };

describe('a scheduled secret', () => {
  test.each<[string, number]>([
    ['before', CUT_OVER - 1],
    ['after', CUT_OVER],
  ])('is %s at %i, and never both', (expected, now) => {
    expect(scheduledSecret(GIVEN, { now: () => now })()).toBe(expected);
  });

  test('uses the system clock by default', () => {
    expect(scheduledSecret({ ...GIVEN, nextFrom: '2001-01-01T00:00:00Z' })()).toBe('after');
    expect(scheduledSecret({ ...GIVEN, nextFrom: '9001-01-01T00:00:00+02:00' })()).toBe('before');
  });

  test('takes its time as a Date, too, also from a sandbox', () => {
    const nextFrom = runInNewContext(`new Date(${CUT_OVER})`) as Date;
    let now = CUT_OVER - 1;
    const secret = scheduledSecret({ ...GIVEN, nextFrom }, { now: () => now });
    expect(secret()).toBe('before');
    now = CUT_OVER;
    expect(secret()).toBe('after');
  });

  test('is a copy', () => {
    const given = { ...GIVEN };
    const ask = scheduledSecret(given, { now: () => CUT_OVER });
    given.next = 'another';
    expect(ask()).toBe('after');
  });

  test.each<[string, object, string, string]>([
    ['no secret', { current: '' }, 'current', 'expected a non-empty string, found an empty string'],
    ['no time', { nextFrom: 'hunter2' }, 'nextFrom', 'expected a time of ISO 8601, found a string'],
    [
      'no time of a Date',
      { nextFrom: new Date(Number.NaN) },
      'nextFrom',
      'expected a time of ISO 8601, found an object',
    ],
    [
      'a time of no place',
      { nextFrom: '2026-11-21T10:00:00' },
      'nextFrom',
      'expected a time of ISO 8601, found a string',
    ],
  ])('is refused with %s', (_what, change, key, message) => {
    const error = thrownBy(() => scheduledSecret({ ...GIVEN, ...change }));
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION', issues: [{ path: [key], message }] });
    expect(inspect(error, { depth: Infinity })).not.toContain('hunter2');
  });
});
