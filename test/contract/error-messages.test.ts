import { describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { errorMessage, expecting, shown } from '../../src/contract/error-messages.ts';

describe('shown', () => {
  it.each([
    ['"GET"', 'GET'],
    ['"a.b:c/d+e-f_9"', 'a.b:c/d+e-f_9'],
    [`"${'x'.repeat(48)}"`, 'x'.repeat(48)],
    ['7', 7],
    ['-0.5', -0.5],
    ['NaN', Number.NaN],
    ['true', true],
    ['a string', 'x'.repeat(49)],
    ['a string', 'two words'],
    ['a string', 'word\n'],
    ['a string', '"quoted"'],
    ['a string', 'jane@example.com'],
    ['an empty string', ''],
    ['nothing', undefined],
    ['an array', ['GET']],
    ['an object', { secret: 1 }],
  ])('returns a short word or a number itself, else only its kind: %s', (words, value) => {
    expect(shown(value)).toBe(words);
  });
});

const issue = (fields: object): z.core.$ZodRawIssue => fields as z.core.$ZodRawIssue;

/** The cases of the contract's fields (cases/fields.ts) have the messages of all kinds of fields. */
describe('errorMessage', () => {
  it.each([
    ['expected an array, found null', { code: 'invalid_type', expected: 'tuple', input: null }],
    ['expected nothing, found a number', { code: 'invalid_type', expected: 'never', input: 1 }],
    ['expected a value, found nothing', { code: 'invalid_type', expected: 'nonoptional' }],
    ['expected date, found a number', { code: 'invalid_type', expected: 'date', input: 1 }],
    ...['SQL-Injection', 'sqlInjection'].map((input): [string, object] => [
      `expected "sql_injection", found "${input}"; did you mean "sql_injection"?`,
      { code: 'invalid_value', values: ['sql_injection'], input },
    ]),
    [`unknown key "${'k'.repeat(64)}"`, { code: 'unrecognized_keys', keys: ['k'.repeat(65)] }],
    ['unknown keys "a", "\\n"', { code: 'unrecognized_keys', keys: ['a', '\n'] }],
    [
      'unknown keys "a", "b", "c", "d", "e"',
      { code: 'unrecognized_keys', keys: ['a', 'b', 'c', 'd', 'e'] },
    ],
    [
      'unknown keys "a", "b", "c", "d", "e" and 1 more',
      { code: 'unrecognized_keys', keys: ['a', 'b', 'c', 'd', 'e', 'f'] },
    ],
    [
      'expected at least 2 characters, found "a"',
      { code: 'too_small', origin: 'string', minimum: 2, input: 'a' },
    ],
    [
      'expected at most 3 characters, found a string',
      { code: 'too_big', origin: 'string', maximum: 3, input: 'a secret' },
    ],
  ])('says: %s', (words, fields) => {
    expect(errorMessage(issue(fields))).toBe(words);
  });

  it.each(['custom', 'invalid_format', 'invalid_union', 'not_multiple_of'])(
    'leaves an issue of the code %s to the schema',
    (code) => {
      expect(errorMessage(issue({ code, input: 'x' }))).toBeUndefined();
    },
  );
});

describe('expecting', () => {
  it('names what was expected and the kind of the found value, never the value', () => {
    expect(expecting('a slug')(issue({ input: 'secret' }))).toBe('expected a slug, found a string');
  });
});
