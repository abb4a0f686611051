/** The kinds of fields that the contract's tables name, each with values that fit and do not. */
import {
  byDialect,
  byReading,
  everywhere,
  type Field,
  type Given,
  type Kind,
  no,
  ok,
  onlyOpen,
  onlyReceived,
} from './case.ts';
import { foundWord, oneOf } from './words.ts';

/** A field whose wrong kinds are refused in the same words everywhere. */
export const plain = (
  what: string,
  wrongKinds: readonly Kind[],
  given: readonly Given[],
): Field => ({
  given,
  wrongKinds,
  wrong: (kind) => everywhere(`expected ${what}, found ${kind}`),
});

export const NOT_TEXT: readonly Kind[] = ['a number', 'a boolean', 'an object', 'an array'];
const NOT_NUMBER: readonly Kind[] = ['a string', 'a boolean', 'an object', 'an array'];

export const TEXT = plain('a string', NOT_TEXT, ok('', 'x', 'é\u2028\ud800'));

/** Of a format when emitted, any text when received. */
export const textLike = (what: string, given: readonly Given[]): Field => ({
  given,
  wrongKinds: NOT_TEXT,
  wrong: (kind) => byReading(`expected ${what}, found ${kind}`, `expected a string, found ${kind}`),
});

export const NON_EMPTY = plain('a string', NOT_TEXT, [
  ...ok('x', ' '),
  ...no('expected a non-empty string, found an empty string', ''),
]);

export const FLAG = plain('true or false', ['a string', 'a number', 'an object'], ok(true, false));

const TOO_LARGE = 'expected at most 9007199254740991, found 9007199254740992';

const NOT_INTEGER = [
  ...no('expected an integer, found a number', 1.5),
  ...no('expected a number, found NaN', Number.NaN),
  ...no('expected a number, found Infinity', Number.POSITIVE_INFINITY),
];

export const INTEGER = plain('a number', NOT_NUMBER, [
  ...ok(0, 1, -1, Number.MAX_SAFE_INTEGER),
  ...no(TOO_LARGE, Number.MAX_SAFE_INTEGER + 1),
  ...NOT_INTEGER,
]);

export const COUNT = plain('a number', NOT_NUMBER, [
  ...ok(0, 1, 1000),
  ...no('expected at least 0, found -1', -1),
  ...NOT_INTEGER,
]);

/** An integer from `minimum` to `maximum` when emitted, any when received. */
export const integerBetween = (minimum: number, maximum: number): Field =>
  plain('a number', NOT_NUMBER, [
    ...ok(minimum, minimum + 1, maximum - 1, maximum),
    ...onlyReceived(`expected at least ${minimum}, found ${minimum - 1}`, minimum - 1),
    ...onlyReceived(`expected at most ${maximum}, found ${maximum + 1}`, maximum + 1),
    ...NOT_INTEGER,
  ]);

/** A number from `-limit` to `limit` when emitted, any when received (D12). */
export const degrees = (limit: number): Field =>
  plain('a number', NOT_NUMBER, [
    ...ok(0, 0.5, limit, -limit),
    ...onlyReceived(`expected at most ${limit}, found ${limit}.5`, limit + 0.5),
    ...onlyReceived(`expected at least -${limit}, found -${limit}.5`, -limit - 0.5),
    ...no('expected a number, found NaN', Number.NaN),
    ...no('expected a number, found -Infinity', Number.NEGATIVE_INFINITY),
  ]);

export const NUMBER = plain('a number', NOT_NUMBER, [
  ...ok(0, -4.5, 1e300),
  ...no('expected a number, found NaN', Number.NaN),
]);

/** Closed in the strict dialect, any non-empty string in the open one (D0). */
export const word = (list: readonly string[], ...others: readonly string[]): Field => ({
  given: [
    ...ok(...list),
    ...others.flatMap((other) => onlyOpen(`${oneOf(list)}, ${foundWord(other)}`, other)),
    ...onlyOpen(`${oneOf(list)}, found a string`, 'two words'),
    {
      value: '',
      verdicts: byDialect(
        `${oneOf(list)}, found an empty string`,
        'expected a non-empty string, found an empty string',
      ),
    },
  ],
  wrongKinds: NOT_TEXT,
  wrong: (kind, value) =>
    byDialect(
      `${oneOf(list)}, found ${kind === 'a number' || kind === 'a boolean' ? String(value) : kind}`,
      `expected a string, found ${kind}`,
    ),
});

/** Closed in every reading. */
export const closedWord = (
  list: readonly (string | number)[],
  ...others: readonly (string | number)[]
): Field => {
  const words = list.length === 1 ? `expected ${JSON.stringify(list[0])}` : oneOf(list);
  return {
    given: [
      ...ok(...list),
      ...others.flatMap((other) => no(`${words}, found ${JSON.stringify(other)}`, other)),
      ...no(`${words}, found an empty string`, ''),
      ...no(`${words}, found a string`, 'two words', 'x'.repeat(49)),
      ...no(`${words}, found "${'x'.repeat(48)}"`, 'x'.repeat(48)),
    ],
    wrongKinds: NOT_TEXT,
    wrong: (kind, value) =>
      everywhere(
        `${words}, found ${kind === 'a number' || kind === 'a boolean' ? String(value) : kind}`,
      ),
  };
};

const NOT_OBJECT: readonly Kind[] = ['a string', 'a number', 'an array'];

/** An object whose keys have their own tables. */
export const OBJECT = plain('an object', NOT_OBJECT, []);

/** The address of an actor. */
export const ADDRESS_FACTS = plain(
  'an object with address, geo and metadata (a reporter also accepts an address as text)',
  NOT_OBJECT,
  [],
);

export const FREE_OBJECT = plain(
  'an object',
  NOT_OBJECT,
  ok({}, { a: { b: [null, 1, 'x', true] } }),
);

export const FREE_OBJECT_OR_ARRAY = plain(
  'an array or an object',
  ['a string', 'a number', 'a boolean'],
  ok({}, [], { a: [1] }, [{ a: null }, 'x']),
);

export const ARRAY = plain('an array', ['a string', 'a number', 'an object'], ok([]));
