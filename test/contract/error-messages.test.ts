import { describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { errorMessage, expecting, kindOf, shown } from '../../src/contract/error-messages.ts';

const KINDS: readonly [string, unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['an array', []],
  ['an empty string', ''],
  ['a string', ' '],
  ['a number', 0],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['a boolean', false],
  ['a BigInt', 0n],
  ['a symbol', Symbol('secret')],
  ['a function', () => 0],
  ['an object', {}],
  ['an object', new Date(0)],
];

describe('kindOf', () => {
  it.each(KINDS)('calls it %s', (words, value) => {
    expect(kindOf(value)).toBe(words);
  });
});

describe('shown', () => {
  it.each([
    ['"GET"', 'GET'],
    ['"a.b:c/d+e-f_9"', 'a.b:c/d+e-f_9'],
    [`"${'x'.repeat(48)}"`, 'x'.repeat(48)],
    ['7', 7],
    ['-0.5', -0.5],
    ['NaN', Number.NaN],
    ['true', true],
  ])('returns the short word or number %s itself', (words, value) => {
    expect(shown(value)).toBe(words);
  });

  it.each([
    ['a string', 'x'.repeat(49)],
    ['a string', 'two words'],
    ['a string', 'word\n'],
    ['a string', '"quoted"'],
    ['a string', 'jane@example.com'],
    ['an empty string', ''],
    ['nothing', undefined],
    ['an array', ['GET']],
    ['an object', { secret: 1 }],
  ])('returns only the kind %s of other values', (words, value) => {
    expect(shown(value)).toBe(words);
  });
});

const issue = (fields: object): z.core.$ZodRawIssue => fields as z.core.$ZodRawIssue;

describe('errorMessage', () => {
  it.each([
    ['expected a string, found a number', { code: 'invalid_type', expected: 'string', input: 5 }],
    ['expected a number, found a string', { code: 'invalid_type', expected: 'number', input: 'x' }],
    ['expected an integer, found a number', { code: 'invalid_type', expected: 'int', input: 0.5 }],
    [
      'expected true or false, found null',
      { code: 'invalid_type', expected: 'boolean', input: null },
    ],
    ['expected an object, found nothing', { code: 'invalid_type', expected: 'object' }],
    ['expected an array, found an object', { code: 'invalid_type', expected: 'array', input: {} }],
    ['expected an array, found null', { code: 'invalid_type', expected: 'tuple', input: null }],
    ['expected null, found an empty string', { code: 'invalid_type', expected: 'null', input: '' }],
    ['expected nothing, found a number', { code: 'invalid_type', expected: 'never', input: 1 }],
    ['expected a value, found nothing', { code: 'invalid_type', expected: 'nonoptional' }],
    ['expected date, found a number', { code: 'invalid_type', expected: 'date', input: 1 }],
    ['expected "2", found 2', { code: 'invalid_value', values: ['2'], input: 2 }],
    ['expected one of "a", 4, found "b"', { code: 'invalid_value', values: ['a', 4], input: 'b' }],
    ...['SQL-Injection', 'sqlInjection'].map((input): [string, object] => [
      `expected "sql_injection", found "${input}"; did you mean "sql_injection"?`,
      { code: 'invalid_value', values: ['sql_injection'], input },
    ]),
    ['unknown key "a"', { code: 'unrecognized_keys', keys: ['a'] }],
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
      'expected a non-empty string, found an empty string',
      { code: 'too_small', origin: 'string', minimum: 1, input: '' },
    ],
    [
      'expected at least 2 characters, found "a"',
      { code: 'too_small', origin: 'string', minimum: 2, input: 'a' },
    ],
    ['expected at least 1, found 0', { code: 'too_small', origin: 'number', minimum: 1, input: 0 }],
    [
      'expected at least 1 elements, found 0',
      { code: 'too_small', origin: 'array', minimum: 1, input: [] },
    ],
    [
      'expected at most 1000 elements, found 2',
      { code: 'too_big', origin: 'array', maximum: 1000, input: [1, 2] },
    ],
    ['expected at most 9, found 10', { code: 'too_big', origin: 'int', maximum: 9, input: 10 }],
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
