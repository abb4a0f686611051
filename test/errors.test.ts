import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ERROR_TABLE, SecurityEventError, type SecurityEventErrorCode } from '../src/errors.ts';

const CODES = Object.keys(ERROR_TABLE) as SecurityEventErrorCode[];

describe('the table of errors', () => {
  test.each(CODES)('%s says what happened, then what to do, in whole sentences', (code) => {
    const { what, hint, kind } = ERROR_TABLE[code];
    const error = new SecurityEventError(code);
    expect(error.message).toBe(`${what}. ${hint}`);
    expect(what).not.toMatch(/\.$/);
    expect(hint).toMatch(/\.$/);
    expect(error).toMatchObject({ name: 'SecurityEventError', code, kind, hint, path: [] });
    expect(error.issues).toEqual([]);
  });
});

describe('an error', () => {
  const issues = [
    { path: ['payload', 'ips', 0], message: 'expected an object, found null' },
    { path: [], message: 'unknown key "x"' },
  ];

  test('has the text and path of its first issue without a detail', () => {
    const error = new SecurityEventError('ERR_INVALID_RECORD', { issues });
    expect(error.message).toContain('contract: payload.ips.0: expected an object, found null. ');
    expect(error.path).toEqual(['payload', 'ips', 0]);
    expect(error.issues).toBe(issues);
  });

  test('ends with its suggestion, and has its advice only in `hint`', () => {
    const detail = 'unknown key "ur" in the options; did you mean "url"?';
    const { message, hint } = new SecurityEventError('ERR_INVALID_OPTION', { detail });
    expect(message).toBe(`An option is not usable: ${detail}`);
    expect(hint).toBe(ERROR_TABLE.ERR_INVALID_OPTION.hint);
  });

  test('has no path for an issue at the root', () => {
    const error = new SecurityEventError('ERR_INVALID_RECORD', { issues: issues.slice(1) });
    expect(error.message).toContain('contract: unknown key "x". ');
    expect(error.path).toEqual([]);
  });

  test.each([
    [['options', 'a b\n"hunter2"', 0], 'options.….0'],
    [['options', 'k'.repeat(64)], `options.${'k'.repeat(64)}`],
    [['options', 'k'.repeat(65)], 'options.…'],
    [Array.from({ length: 12 }, () => 'k'), 'k.k.k.k.k.k.k.k.k.k.k.k'],
    [Array.from({ length: 13 }, () => 'k'), 'k.k.k.k.k.k.k.k.k.k.k.k.…'],
  ])('leaves keys that are payload out of its message, not out of its path: %j', (path, text) => {
    const error = new SecurityEventError('ERR_INVALID_RECORD', {
      issues: [{ path, message: 'expected a JSON value, found a BigInt' }],
    });
    expect(error.message).toContain(`contract: ${text}: expected a JSON value`);
    expect(error.path).toEqual(path);
  });

  test('prefers its own detail and path to those of the issues', () => {
    const error = new SecurityEventError('ERR_INVALID_OPTION', {
      detail: 'sync must be true or false',
      path: ['sync'],
      issues,
    });
    expect(error.message).toContain('An option is not usable: sync must be true or false. ');
    expect(error.path).toEqual(['sync']);
  });

  test('keeps the cause, and has none if none is given', () => {
    const cause = new Error('disk');
    expect(new SecurityEventError('ERR_WRITE_FAILED', { cause }).cause).toBe(cause);
    expect(new SecurityEventError('ERR_WRITE_FAILED')).not.toHaveProperty('cause');
  });

  test('has the input, but shows it neither in inspection, JSON nor enumeration', () => {
    const input = { password: 'hunter2' };
    const error = new SecurityEventError('ERR_INVALID_RECORD', { input });
    expect(error.input).toBe(input);
    const shown = [
      inspect(error, { depth: 9, showHidden: true }),
      JSON.stringify(error),
      JSON.stringify(Object.entries(error)),
      String(error.stack),
    ];
    expect(shown.join()).not.toContain('hunter2');
  });

  test('has the whole input if a check saw only a part', () => {
    const error = new SecurityEventError('ERR_INVALID_MESSAGE', { input: 'a part' });
    expect(error.withInput('the whole')).toBe(error);
    expect(error.input).toBe('the whole');
  });
});
