import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  copyJson,
  MAX_JSON_CHARACTERS,
  MAX_JSON_DEPTH,
  MAX_JSON_VALUES,
} from '../../src/contract/json-value.ts';
import { anyValue } from '../helpers/any-value.ts';

const elsewhere = (code: string): unknown => runInNewContext(`(${code})`);

/** `levels` containers, one in the other. */
const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
  let value: unknown = 'leaf';
  for (let level = 0; level < levels; level += 1) value = wrap(value);
  return value;
};
const inObject = (inner: unknown): unknown => ({ a: inner });
const inArray = (inner: unknown): unknown => [inner];

const cycle = (build: (self: object) => unknown): object => {
  const self: object = {};
  Object.assign(self, build(self));
  return self;
};

type NotJson = readonly [
  name: string,
  value: unknown,
  path: readonly PropertyKey[],
  message: string,
];

const NOT_JSON: readonly NotJson[] = [
  ['undefined', undefined, [], 'expected a JSON value, found nothing'],
  ['undefined in an array', [1, undefined], [1], 'expected a JSON value, found nothing'],
  [
    'a hole in an array',
    { a: Object.assign([1], { 2: 3 }) },
    ['a', 1],
    'expected a JSON value, found nothing',
  ],
  ['NaN', { a: Number.NaN }, ['a'], 'expected a JSON value, found NaN'],
  ['Infinity', [Number.POSITIVE_INFINITY], [0], 'expected a JSON value, found Infinity'],
  ['a BigInt', { a: { b: 1n } }, ['a', 'b'], 'expected a JSON value, found a BigInt'],
  ['a symbol', { a: Symbol('x') }, ['a'], 'expected a JSON value, found a symbol'],
  ['a function', { a: () => 1 }, ['a'], 'expected a JSON value, found a function'],
  ['toJSON', { toJSON: () => 'x' }, ['toJSON'], 'expected a JSON value, found a function'],
  ...(
    [
      ['a Date', new Date(0)],
      ['a boxed number', Object(5)],
      ['an heir of an object', Object.create({ a: 1 })],
      ['an heir of an object without prototype', Object.create(Object.create(null))],
      ['a class instance of another realm', elsewhere('new (class A {})()')],
    ] as const
  ).map(
    ([name, value]): NotJson => [
      name,
      { a: [value] },
      ['a', 0],
      'expected a plain object, found a class instance',
    ],
  ),
  ['a cycle', cycle((self) => ({ self })), ['self'], 'expected a JSON value, found a cycle'],
  [
    'a cycle further down',
    { a: [0, cycle((self) => ({ b: { c: [self] } }))] },
    ['a', 1, 'b', 'c', 0],
    'expected a JSON value, found a cycle',
  ],
  [
    'too many objects',
    nested(MAX_JSON_DEPTH + 1, inObject),
    Array.from({ length: MAX_JSON_DEPTH }, () => 'a'),
    'expected at most 500 levels of nesting, found more',
  ],
  [
    'too many arrays',
    nested(MAX_JSON_DEPTH + 50, inArray),
    Array.from({ length: MAX_JSON_DEPTH }, () => 0),
    'expected at most 500 levels of nesting, found more',
  ],
];

const JSON_VALUES: readonly [string, unknown][] = [
  ['an object of another realm', elsewhere('{ a: [{ b: null }] }')],
  ['an object without prototype', Object.assign(Object.create(null), { a: 1 })],
  ['one level less than allowed', nested(MAX_JSON_DEPTH - 1, inObject)],
  ['as many levels as allowed', nested(MAX_JSON_DEPTH, inArray)],
];

/** `levels` arrays, each of which holds the next one twice: 2 ** levels leaves of few objects. */
const doubled = (levels: number): unknown => nested(levels, (inner) => [inner, inner]);

const lying = (length: number): unknown =>
  new Proxy([], { get: (_target, key) => (key === 'length' ? length : 0) });

const TOO_MANY = 'expected at most 200000 values, found more';

describe('copyJson', () => {
  it('rejects shared objects that expand without limit, with the path', () => {
    const copy = copyJson({ a: doubled(100) });
    expect(copy).toMatchObject({ ok: false, message: TOO_MANY });
    expect(copy.ok ? [] : copy.path.slice(0, 3)).toEqual(['a', 0, 0]);
  });

  it('rejects a list with a false length', () => {
    const path = ['a', MAX_JSON_VALUES - 2];
    expect(copyJson({ a: lying(4e9) })).toEqual({ ok: false, path, message: TOO_MANY });
  });

  it('counts repeated values each time, up to the limit', () => {
    // The list itself is a value too.
    const values = Array<number>(MAX_JSON_VALUES - 1).fill(0);
    expect(copyJson(values).ok).toBe(true);
    expect(copyJson([...values, 0])).toMatchObject({ ok: false, message: TOO_MANY });
  });

  it('counts the characters of repeated texts and keys each time', () => {
    const text = 'x'.repeat(MAX_JSON_CHARACTERS / 4 - 1);
    const list = [text, text, text];
    expect(copyJson({ key: list, a: text }).ok).toBe(true);
    expect(copyJson({ key: list, ab: text })).toEqual({
      ok: false,
      path: ['ab'],
      message: 'expected at most 100000000 characters, found more',
    });
    expect(copyJson({ [text]: [text, text, text], abcde: 0 })).toMatchObject({ path: ['abcde'] });
  });

  it.each(NOT_JSON)('rejects %s, with its path', (_name, value, path, message) => {
    expect(copyJson(value)).toEqual({ ok: false, path, message });
  });

  it.each(JSON_VALUES)('copies %s', (_name, value) => {
    const copy = copyJson(value);
    expect(copy.ok && JSON.stringify(copy.value)).toBe(JSON.stringify(value));
  });

  it('writes negative zero as zero', () => {
    expect(copyJson([-0])).toEqual({ ok: true, value: [0] });
  });

  it('omits symbols, and keys whose value is undefined', () => {
    const copy = copyJson({ a: undefined, b: 1, [Symbol('c')]: 2 });
    expect(copy.ok && Reflect.ownKeys(copy.value as object)).toEqual(['b']);
  });

  it('omits named keys of an array', () => {
    const copy = copyJson(Object.assign([1], { more: 2 }));
    expect(copy.ok && Object.keys(copy.value as object)).toEqual(['0']);
  });

  it('keeps a key named __proto__ as a key, not as the prototype', () => {
    const copy = copyJson(JSON.parse('{"a":1,"__proto__":{"polluted":true}}'));
    const value = (copy.ok ? copy.value : {}) as object;
    expect(JSON.stringify(value)).toBe('{"a":1,"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.getOwnPropertyDescriptor(value, '__proto__')).toEqual({
      value: { polluted: true },
      writable: true,
      enumerable: true,
      configurable: true,
    });
    expect('polluted' in value).toBe(false);
  });

  it('reads a getter once', () => {
    let reads = 0;
    const source = {
      get a() {
        reads += 1;
        return reads === 1 ? 'first' : 1n;
      },
    };
    expect(copyJson(source)).toEqual({ ok: true, value: { a: 'first' } });
    expect(reads).toBe(1);
  });

  it('finds no cycle if an object is only used twice', () => {
    const shared = { a: 1 };
    const deep = nested(MAX_JSON_DEPTH, (inner) => [inner, shared]);
    expect(copyJson([shared, shared])).toEqual({ ok: true, value: [{ a: 1 }, { a: 1 }] });
    // The innermost array is the 500th level, so the object in it is one too many.
    expect(copyJson(deep)).toMatchObject({
      ok: false,
      message: 'expected at most 500 levels of nesting, found more',
    });
  });

  it('never throws for a value without getters, and copies it as JSON.stringify would', () => {
    fc.assert(
      fc.property(anyValue(), (value) => {
        const copy = copyJson(value);
        expect(copy.ok ? JSON.stringify(copy.value) : copy.message).toSatisfy((text: string) =>
          copy.ok ? text === JSON.stringify(value) : REFUSAL.test(text),
        );
      }),
    );
  });
});

const REFUSAL = /^expected .*, found /;
