import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { REDACTED } from '../../../src/capture/redaction/redactor.ts';
import { type ParameterOptions, parameterCopier } from '../../../src/capture/request/parameters.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { anyValue } from '../../helpers/any-value.ts';

const copy = parameterCopier();
const json = (value: unknown, options?: ParameterOptions) =>
  parameterCopier(options)({ json: value }).json;
const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

describe('parameters', () => {
  it('are copied as plain JSON under the name of their source', () => {
    const sources = {
      query: { a: '1', b: ['2', '3'] },
      form: [{ c: null }],
      json: { d: { e: [1.5, true, null] } },
      other: { id: '7' },
    };
    expect(copy(sources)).toEqual(sources);
    expect(JSON.stringify(copy(sources))).toBe(JSON.stringify(sources));
  });

  test.each([{}, { query: {} }, { form: [] }, { json: null }, { other: undefined }, { query: '' }])(
    'are empty for %j',
    (sources) => {
      expect(Object.keys(copy(sources))).toEqual([]);
    },
  );

  test.each<[string, unknown, unknown]>([
    ['text of a query', { query: '?a=1&b=%20&a=2' }, { query: { a: ['1', '2'], b: ' ' } }],
    ['text of a form', { form: 'a=1&a=2&a=3' }, { form: { a: ['1', '2', '3'] } }],
    ['URLSearchParams', { query: new URLSearchParams('a=1&a=2') }, { query: { a: ['1', '2'] } }],
    ['an array as JSON', { json: [1] }, { other: { json: [1] } }],
    ['text as JSON', { json: '<a/>' }, { other: { json: '<a/>' } }],
    ['a query that is an array', { query: ['a'] }, { other: { query: ['a'] } }],
    ['other that is text', { other: 'a' }, { other: { other: 'a' } }],
    ['a name that is taken', { json: [1], other: { json: 2 } }, { other: { json: 2 } }],
    ['a Buffer as a form', { form: Buffer.from('ab') }, { other: { form: '[binary: 2 bytes]' } }],
  ])('put %s where the contract allows it', (_, sources, expected) => {
    expect(copy(sources as object)).toEqual(expected);
  });
});

const fail = () => {
  throw new Error('trap');
};

class Point {
  x = 1;
  #y = 2;
  get sum() {
    return this.x + this.#y;
  }
  toJSON() {
    throw new Error('toJSON was run');
  }
}

const dated = new Date(0);
Object.assign(dated, { toJSON: () => 'run', toISOString: () => 'run', getTime: () => Number.NaN });

describe('a value that JSON does not have', () => {
  test.each<[string, unknown, unknown]>([
    ['undefined', undefined, undefined],
    ['NaN', Number.NaN, 'NaN'],
    ['-0', -0, 0],
    ['a BigInt', 2n ** 64n, '18446744073709551616'],
    ['a very long BigInt', 2n ** 4096n, '[bigint]'],
    ['a symbol', Symbol('a'), '[symbol]'],
    ['a function', () => 1, '[function]'],
    ['a Date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a Date with methods of its own', dated, '1970-01-01T00:00:00.000Z'],
    ['an invalid Date', new Date(Number.NaN), '[invalid date]'],
    ['a Buffer', Buffer.from('abc'), '[binary: 3 bytes]'],
    ['a promise', Promise.resolve(1), {}],
    ['a class instance with toJSON', new Point(), { x: 1 }],
    ['a sparse array', Object.assign([], { 1: 1 }), [null, 1]],
    ['an array of undefined', [undefined], [null]],
    [
      'an object without prototype',
      Object.create(null, { a: { value: 1, enumerable: true } }),
      { a: 1 },
    ],
    ['hidden keys', Object.defineProperty({ a: 1 }, 'b', { value: 2 }), { a: 1 }],
    ['symbol keys', { [Symbol('a')]: 1 }, {}],
    ['a poser', Object.create(URLSearchParams.prototype), '[unreadable]'],
  ])('%s is copied as a description', (_, value, expected) => {
    expect(json({ value, z: 1 })).toEqual(
      expected === undefined ? { z: 1 } : { value: expected, z: 1 },
    );
  });

  it('is read without running getters', () => {
    let runs = 0;
    const given = {
      get a() {
        runs += 1;
        throw new Error('run');
      },
      b: Object.defineProperty([0], 0, { get: () => (runs += 1), enumerable: true }),
    };
    expect(json(given)).toEqual({ a: '[getter]', b: ['[getter]'] });
    expect(runs).toBe(0);
  });

  it('is copied from a proxy that throws in every trap', () => {
    const handler = new Proxy({}, { get: () => fail });
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const picky = new Proxy([1, 2], {
      getOwnPropertyDescriptor: (target, key) =>
        key === '1' ? fail() : Reflect.getOwnPropertyDescriptor(target, key),
    });
    const given = {
      a: new Proxy({}, handler),
      b: revoked.proxy,
      c: [new Proxy([], handler)],
      picky,
    };
    expect(json(given)).toEqual({
      a: '[unreadable]',
      b: '[unreadable]',
      c: ['[unreadable]'],
      picky: [1, '[unreadable]'],
    });
    expect(copy({ query: revoked.proxy, json: { a: 1 } })).toEqual({
      json: { a: 1 },
      other: { query: '[unreadable]' },
    });
  });

  it('is copied if it contains itself', () => {
    const given: Record<string, unknown> = { a: [1], shared: null };
    given['self'] = given;
    given['list'] = [given];
    given['shared'] = given['a'];
    expect(json(given)).toEqual({ a: [1], shared: [1], self: '[circular]', list: ['[circular]'] });
  });
});

test('a prototype is not changed by keys of attackers, which are copied', () => {
  const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
  expect(JSON.stringify(json(JSON.parse(text)))).toBe(text);
  expect('polluted' in {}).toBe(false);
});

describe('secrets', () => {
  it('are redacted by key at every depth, except empty values', () => {
    const given = {
      user: [{ password: 'x', token: { a: 1 }, pin: 1234, secret: '', apiKey: null, auth: true }],
      'user[password]': ['x'],
    };
    expect(json(given)).toEqual({
      user: [
        {
          password: REDACTED,
          token: REDACTED,
          pin: REDACTED,
          secret: '',
          apiKey: null,
          auth: true,
        },
      ],
      'user[password]': REDACTED,
    });
  });

  it('are redacted by shape in texts, numbers, BigInts and keys', () => {
    const given = {
      a: ['/cb?token=abc'],
      b: 4111111111111111,
      c: 4111111111111111n,
      '{"password":"abc"}': '',
    };
    expect(json(given)).toEqual({
      a: [`/cb?token=${REDACTED}`],
      b: REDACTED,
      c: REDACTED,
      [`{"password":"${REDACTED}"}`]: '',
    });
  });

  it('are redacted if the text is cut inside or after them', () => {
    const token = `eyJ${'a'.repeat(300)}.${'b'.repeat(300)}.${'c'.repeat(300)}`;
    const long = `eyJ${'a'.repeat(9000)}.b.c`;
    const copied = json({ a: `${'x '.repeat(2040)}${token}`, b: `${'x '.repeat(2000)}${long}` });
    expect(copied).toEqual({
      a: `${'x '.repeat(2040)}${REDACTED}`,
      b: `${'x '.repeat(2000)}${REDACTED}[truncated: 7887 characters]`,
    });
  });
});

const nested = (depth: number, inner: unknown): unknown =>
  depth === 0 ? inner : { a: nested(depth - 1, inner) };

const keys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));

describe('the limits', () => {
  it('mark values deeper than 8 levels', () => {
    expect(json(nested(8, 1))).toEqual(nested(8, 1));
    expect(json(nested(9, 1))).toEqual(nested(8, '[truncated: object]'));
    expect(json(nested(8, [1]))).toEqual(nested(8, '[truncated: array]'));
    expect(json({ a: { b: 1 } }, { maxDepth: 1 })).toEqual({ a: '[truncated: object]' });
  });

  it('mark more than 256 keys or elements', () => {
    expect(json(keys(256))).toEqual(keys(256));
    expect(json(keys(258))).toEqual({ ...keys(256), '[truncated]': '2 keys' });
    const list = Array.from({ length: 256 }, () => 1);
    expect(json({ list })).toEqual({ list });
    expect(json({ list: [...list, 1] })).toEqual({ list: [...list, '[truncated: 1 elements]'] });
  });

  it('count the pairs of a query', () => {
    expect(parameterCopier({ maxKeys: 2 })({ query: 'a=1&a=2&b=3' })).toEqual({
      query: { a: ['1', '2'], '[truncated]': '1 keys' },
    });
  });

  it('mark strings above 4096 and keys above 256 code units', () => {
    const fit = 'x'.repeat(4096);
    expect(json({ a: fit })).toEqual({ a: fit });
    expect(json({ a: `${fit}xy` })).toEqual({ a: `${fit}[truncated: 2 characters]` });
    expect(json({ a: 'x'.repeat(9000) })).toEqual({ a: `${fit}[truncated: 4904 characters]` });
    const half = 'x'.repeat(4095);
    expect(json({ a: `${half}😀` })).toEqual({ a: `${half}[truncated: 2 characters]` });
    expect(json({ ['k'.repeat(256)]: 1 })).toEqual({ ['k'.repeat(256)]: 1 });
    expect(json({ ['k'.repeat(257)]: 1 })).toEqual({
      [`${'k'.repeat(256)}[truncated: 1 characters]`]: 1,
    });
  });

  it('apply to all sources together, the query first', () => {
    const big = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`k${index}`, 'x'.repeat(4000)]),
    );
    const copied = copy({ query: { a: '1' }, json: big, other: { b: '2' } });
    expect(bytes(copied)).toBeLessThanOrEqual(32_768);
    expect(bytes(copied)).toBeGreaterThan(32_000);
    expect(copied.query).toEqual({ a: '1' });
    expect(copied.json).toMatchObject({
      k7: 'x'.repeat(4000),
      k8: expect.stringMatching(/^x+\[truncated: \d+ characters\]$/),
      '[truncated]': '11 keys',
    });
    expect(copied).not.toHaveProperty('other');
  });
});

describe('any value', () => {
  // request-capture.test.ts has it accepted by the contract.
  it('stays within the bytes, and has no control characters', () => {
    const odd = fc.oneof(
      anyValue({ maxDepth: 10 }),
      fc.string({ unit: anyCharacter, maxLength: 3000 }),
      fc.dictionary(fc.string({ unit: anyCharacter }), fc.string({ maxLength: 500 })),
    );
    fc.assert(
      fc.property(
        fc.record({ query: odd, form: odd, json: odd, other: odd }, { requiredKeys: [] }),
        fc.integer({ min: 1024, max: 4096 }),
        (sources, maxBytes) => {
          const copied = parameterCopier({ maxBytes })(sources);
          expect(bytes(copied)).toBeLessThanOrEqual(maxBytes);
          // JSON.stringify writes control characters and lone surrogates as \\u….
          expect(JSON.stringify(copied).replaceAll('\\\\', '')).not.toContain('\\u');
        },
      ),
      { numRuns: 100 },
    );
  });

  it('stays within the limits if each object contains all others', () => {
    const objects: Record<string, unknown>[] = Array.from({ length: 50 }, () => ({}));
    for (const object of objects) Object.assign(object, objects);
    const copied = copy({ json: objects[0] });
    expect(bytes(copied)).toBeLessThanOrEqual(32_768);
  });
});
