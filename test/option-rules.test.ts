import { describe, expect, test } from 'vitest';
import {
  A_FUNCTION,
  ANYTHING,
  check,
  integer,
  listOf,
  object,
  oneOf,
  optional,
  type Rule,
  readOptions,
  required,
  SIGNAL,
  usable,
} from '../src/option-rules.ts';

const { signal } = new AbortController();

/** Each rule with values that it takes, values that it does not, and its words. */
const RULES: readonly [Rule, readonly unknown[], readonly unknown[], string][] = [
  [
    integer(1, 9),
    [1, 5, 9],
    [0, 10, 1.5, Number.NaN, Infinity, -Infinity, '1', null, true, [], [1], {}],
    'an integer from 1 to 9',
  ],
  [oneOf('a', 2, true), ['a', 2, true], ['b', '2', 1, null, ['a'], 'A'], '"a" or 2 or true'],
  [
    object('a box', (value) => 'lid' in value),
    [{ lid: 1 }],
    [null, undefined, 'lid', {}, () => {}],
    'a box',
  ],
  [
    listOf('words', (value) => typeof value === 'string'),
    [[], ['a', 'b']],
    [['a', 1], 'a', { length: 0 }, null, new Set(['a'])],
    'a list of words',
  ],
  [A_FUNCTION, [() => {}], [{}, null, 'f'], 'a function'],
  [
    SIGNAL,
    [signal, { aborted: false, addEventListener() {} }],
    [{}, null, { aborted: 'no', addEventListener() {} }, { aborted: false }, new AbortController()],
    'an AbortSignal',
  ],
  [ANYTHING, [null, undefined, 1, {}], [], 'anything'],
  [usable('small', (value) => value === 1), [1], [2], 'small'],
];

test.each(RULES)('a rule takes what it may and nothing else: %j', (...row) => {
  const [rule, taken, refused, expected] = row;
  expect(taken.filter((value) => !rule.isUsable(value))).toEqual([]);
  expect(refused.filter((value) => rule.isUsable(value))).toEqual([]);
  expect(rule.expected).toBe(expected);
});

const RULES_OF_OPTIONS = { size: integer(1, 9), word: oneOf('a') };

const checked = (given: unknown, subject?: Parameters<typeof check>[2]) =>
  check<{ size: number; word: string }>(given, RULES_OF_OPTIONS, subject);

describe('options are refused', () => {
  test.each<[unknown, readonly string[], string]>([
    [undefined, [], 'expected the options to be an object'],
    [null, [], 'expected the options to be an object'],
    ['options', [], 'expected the options to be an object'],
    [[], [], 'expected the options to be an object'],
    [() => {}, [], 'expected the options to be an object'],
    [{ more: 1 }, ['more'], 'unknown key "more" in the options'],
    [{ more: undefined }, ['more'], 'unknown key "more" in the options'],
    [{ toString: undefined }, ['toString'], 'unknown key "toString" in the options'],
    [{ size: 0 }, ['size'], 'expected size to be an integer from 1 to 9'],
    [{ size: null }, ['size'], 'expected size to be an integer from 1 to 9'],
    [{ size: 1, word: 'b' }, ['word'], 'expected word to be "a"'],
  ])('%j, told at %j', (given, path, detail) => {
    expect(() => checked(given)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path,
        message: expect.stringContaining(`An option is not usable: ${detail}. `),
      }),
    );
  });

  test('by the name and the path of the object that holds them', () => {
    const subject = { name: 'schedule', path: ['schedule'] };
    const told = (given: unknown) => {
      try {
        return checked(given, subject);
      } catch (error) {
        return error;
      }
    };
    expect([told(1), told({ more: 1 }), told({ size: 0 })]).toMatchObject([
      { path: ['schedule'], message: expect.stringContaining('expected schedule to be an object') },
      { path: ['schedule', 'more'], message: expect.stringContaining('"more" in schedule') },
      { path: ['schedule', 'size'], message: expect.stringContaining('expected schedule.size to') },
    ]);
  });
});

test('all faults of a call are reported in one error, which describes the first', () => {
  const given = { word: 'b', more: 1, size: 0 };
  const message = expect.stringContaining('expected word to be "a"');
  const issues = [
    { path: ['word'], message: 'expected "a"' },
    { path: ['more'], message: 'unknown key "more" in the options' },
    { path: ['size'], message: 'expected an integer from 1 to 9' },
  ];
  expect(() => checked(given)).toThrow(
    expect.objectContaining({ path: ['word'], message, issues }),
  );
});

test('a missing option is reported beside the other faults', () => {
  const table = { size: required<number>(integer(1, 9)), word: optional<string>(oneOf('a')) };
  const issues = [
    { path: ['word'], message: 'expected "a"' },
    { path: ['size'], message: 'expected an integer from 1 to 9' },
  ];
  expect(() => readOptions({ word: 'b' }, table)).toThrow(expect.objectContaining({ issues }));
});

test('options that are taken are a copy without a prototype, and undefined is as absent', () => {
  const given = { size: 5, word: undefined };
  const copy = checked(given);
  given.size = 6;
  expect({ ...copy }).toEqual({ size: 5, word: undefined });
  expect(Object.getPrototypeOf(copy)).toBeNull();
});

test('a getter of the options is read once', () => {
  let reads = 0;
  const copy = checked({
    get size() {
      reads += 1;
      return 5;
    },
  });
  expect([copy.size, copy.size, reads]).toEqual([5, 5, 1]);
});

test.each(['size', 'unknown'])('an option whose getter throws is named: %s', (name) => {
  const cause = new Error('of the host');
  const get = () => {
    throw cause;
  };
  const given = Object.defineProperty({ word: 'a' }, name, { enumerable: true, get });
  const subject = { name: 'schedule', path: ['schedule'] };
  const message = expect.stringContaining(`reading schedule.${name} threw`);
  expect(() => checked(given, subject)).toThrow(
    expect.objectContaining({
      code: 'ERR_INVALID_OPTION',
      path: ['schedule', name],
      message,
      cause,
    }),
  );
});

test('an object that cannot be read is an invalid option', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const code = 'ERR_INVALID_OPTION';
  expect(() => checked(proxy)).toThrow(expect.objectContaining({ code, path: [] }));
  const rules = { box: object('a box', (value) => 'lid' in value) };
  expect(() => check({ box: proxy }, rules)).toThrow(
    expect.objectContaining({ code, path: ['box'], message: expect.stringContaining('a box') }),
  );
});
