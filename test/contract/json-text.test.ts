import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { contract } from '../../src/contract/index.ts';
import { jsonTextOf } from '../../src/contract/json-text.ts';
import { copyJson, MAX_JSON_CHARACTERS } from '../../src/contract/json-value.ts';
import { textOfJson } from '../../src/contract/text-of-json.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { inputs } from './cases/arbitrary-inputs.ts';
import { MODES } from './cases/case.ts';
import { fastPathOf, schemasFor } from './cases/judge.ts';
import { anyLongText, anyText } from './cases/texts.ts';
import { namesOf, RECORDS, SAMPLES } from './samples.ts';

const STRICT = contract();

/** Samples with a rule that is more than their shape. */
const LEFT_TO_THE_SCHEMA: readonly string[] = [
  'suffixed exploit',
  'security_event (v1)',
  'test (v1)',
];

afterEach(() => {
  vi.unstubAllGlobals();
});

/** As a process that may not make code from strings. */
const forbidGeneratedCode = (): void => {
  vi.stubGlobal('Function', () => {
    throw new EvalError('Code generation from strings disallowed for this context');
  });
};

const hidden = <T extends object>(value: T, key: keyof T): T =>
  Object.defineProperty({ ...value }, key, { enumerable: false });

const keyOf = (length: number): object => ({ ['k'.repeat(length)]: 1 });

/** An array that has the keys of an object. */
const asArray = (value: object, prototype: object | null): object =>
  Object.assign(Object.setPrototypeOf([], prototype) as object, value);

/** A record with free-form options. */
const withOptions = (options: unknown) => ({
  ...RECORDS['custom event'],
  payload: { ...RECORDS['custom event'].payload, options },
});

describe('the fast path', () => {
  it('takes every sample, or leaves it to the schema as it is known to', () => {
    const texts = namesOf(SAMPLES)
      .filter((name) => name !== 'line')
      .map((name) => {
        const [schema] = schemasFor(name, MODES[0]) as [z.ZodType];
        const text = JSON.stringify(schema.parse(SAMPLES[name]));
        const due = LEFT_TO_THE_SCHEMA.includes(name) ? undefined : text;
        return { name, text: fastPathOf(schema)(SAMPLES[name]), due };
      });
    expect(texts.filter(({ text, due }) => text !== due)).toEqual([]);
  });

  it.each([
    ['code that is made for a shape', () => {}],
    ['no generated code', forbidGeneratedCode],
  ])('writes what is near the contract as zod and JSON.stringify do, with %s', (_, prepare) => {
    prepare();
    const paths = new Map<z.ZodType, (value: unknown) => string | undefined>();
    let taken = 0;
    fc.assert(
      fc.property(inputs, ({ on, input }) => {
        for (const schema of MODES.flatMap((mode) => schemasFor(on, mode))) {
          const textOf = paths.get(schema) ?? jsonTextOf(schema);
          paths.set(schema, textOf);
          const text = textOf(input);
          if (text === undefined) continue;
          taken += 1;
          expect(text).toBe(JSON.stringify(schema.parse(input)));
        }
      }),
      { numRuns: quickOrNightly(150, 5000), seed: 7 },
    );
    expect(taken).toBeGreaterThan(100);
  });

  it('writes any free-form JSON as zod and JSON.stringify do', () => {
    const textOf = fastPathOf(STRICT.LogRecord);
    fc.assert(
      fc.property(
        fc.dictionary(anyText, fc.oneof(fc.jsonValue(), fc.double(), anyLongText)),
        (options) => {
          const result = STRICT.LogRecord.safeParse(withOptions(options));
          const text = textOf(withOptions(options));
          expect(text).toBe(result.success ? JSON.stringify(result.data) : undefined);
        },
      ),
      { numRuns: quickOrNightly(200, 5000), seed: 7 },
    );
  });

  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  it.each([
    ['undefined', undefined],
    ['null', null],
    ['a text', 'record'],
    ['an array', [RECORDS.attack]],
    ['an unknown key', { ...RECORDS.attack, more: 1 }],
    ['an unknown key below', { ...RECORDS.attack, payload: { ruleset: 'xss', more: 1 } }],
    ['a missing key', { ...RECORDS.attack, payload: {} }],
    ['a class instance', Object.assign(Object.create(new URL('urn:a')) as object, RECORDS.attack)],
    ['a cycle', { ...RECORDS['custom event'], payload: { event_name: 'a', options: cycle } }],
    [
      'a date',
      { ...RECORDS['custom event'], payload: { event_name: 'a', options: { at: new Date(0) } } },
    ],
    ['a BigInt', { ...RECORDS['custom event'], payload: { event_name: 'a', options: { n: 1n } } }],
    [
      'not a number',
      { ...RECORDS['custom event'], payload: { event_name: 'a', options: { n: Number.NaN } } },
    ],
    [
      'a list for an identifier',
      {
        ...RECORDS.attack,
        context: {
          ...RECORDS.attack.context,
          actor: { ...RECORDS.attack.context.actor, identifiers: { ids: [1] } },
        },
      },
    ],
    [
      'null for an identifier',
      {
        ...RECORDS.attack,
        context: {
          ...RECORDS.attack.context,
          actor: { ...RECORDS.attack.context.actor, identifiers: { id: null } },
        },
      },
    ],
  ])('leaves %s to the schema', (_, value) => {
    expect(fastPathOf(STRICT.LogRecord)(value)).toBe(undefined);
  });

  it.each([500, 501])('leaves what is deeper than 500 levels to the schema: %i', (levels) => {
    let options: object = {};
    for (let level = 1; level < levels; level += 1) options = { a: options };
    const value = { ...RECORDS['custom event'], payload: { event_name: 'deep', options } };
    const result = STRICT.LogRecord.safeParse(value);
    expect(result.success).toBe(levels === 500);
    expect(fastPathOf(STRICT.LogRecord)(value)).toBe(
      result.success ? JSON.stringify(result.data) : undefined,
    );
  });

  it('reads each value once, so that what is checked is what is written', () => {
    const reads: string[] = [];
    const counted = <T extends object>(value: T): T =>
      new Proxy(value, {
        get: (target, key, self) => {
          reads.push(String(key));
          const found: unknown = Reflect.get(target, key, self);
          return typeof found === 'object' && found !== null ? counted(found) : found;
        },
      });
    const text = fastPathOf(STRICT.LogRecord)(counted(structuredClone(RECORDS.login)));
    expect(text).toBe(JSON.stringify(RECORDS.login));
    // The event's name once more, to choose its kind.
    expect(reads.filter((key) => key === 'event_name')).toHaveLength(2);
    expect(reads.filter((key) => key === 'success')).toHaveLength(1);
  });

  it.each([
    ['an enumerable key', { value: 'polluted', enumerable: true }],
    ['a hidden key', { value: 'polluted', enumerable: false }],
  ])(
    'leaves records to the schema while every object inherits %s that the contract knows',
    (_, property) => {
      const textOf = fastPathOf(STRICT.LogRecord);
      const { actor: _actor, ...context } = RECORDS.attack.context;
      Reflect.defineProperty(Object.prototype, 'actor', {
        ...property,
        configurable: true,
        writable: true,
      });
      try {
        expect(textOf({ ...RECORDS.attack, context })).toBe(undefined);
      } finally {
        Reflect.deleteProperty(Object.prototype, 'actor');
      }
      expect(textOf({ ...RECORDS.attack, context })).toBe(
        JSON.stringify({ ...RECORDS.attack, context }),
      );
    },
  );

  describe.each([
    ['code that is made for a shape', () => {}],
    ['no generated code', forbidGeneratedCode],
  ])('with %s', (_, prepare) => {
    it.each([
      [
        'a key nobody knows, where one is hidden',
        hidden({ ...RECORDS.attack, more: 1 }, 'context'),
      ],
      [
        'the same below',
        { ...RECORDS.attack, payload: hidden({ ruleset: 'xss', more: 1 }, 'ruleset') },
      ],
      [
        'an array without a prototype that has the keys of an object',
        { ...RECORDS.attack, context: asArray(RECORDS.attack.context, null) },
      ],
      [
        'an array with the prototype of objects',
        { ...RECORDS.attack, context: asArray(RECORDS.attack.context, Object.prototype) },
      ],
    ])('leaves to the schema %s', (_what, value) => {
      prepare();
      expect(STRICT.LogRecord.safeParse(value).success).toBe(false);
      expect(jsonTextOf(STRICT.LogRecord)(value)).toBe(undefined);
    });
  });

  it('reads a hidden key as the schema does', () => {
    const value = hidden({ ...RECORDS.attack }, 'context');
    const due = JSON.stringify(STRICT.LogRecord.parse(value));
    expect(due).toBe(JSON.stringify(STRICT.LogRecord.parse(RECORDS.attack)));
    expect(fastPathOf(STRICT.LogRecord)(value)).toBe(due);
  });

  it.each([
    [MAX_JSON_CHARACTERS, true],
    [MAX_JSON_CHARACTERS + 1, false],
  ])('takes keys of %i characters: %s, also where no text follows', (characters, isTaken) => {
    // Each is written as often as it is held.
    const full = Array<object>(MAX_JSON_CHARACTERS / 2000 - 1).fill(keyOf(2000));
    const value = [...full, keyOf(characters - full.length * 2000)];
    expect(copyJson(value).ok).toBe(isTaken);
    expect(textOfJson({ onlyScalars: false, areFit: undefined })(value) !== undefined).toBe(
      isTaken,
    );
  });

  it('knows nothing of schemas that it was not made for', () => {
    for (const schema of [
      z.object({ a: z.string() }),
      z.looseObject({ a: z.string() }),
      z.strictObject({ a: z.string().transform(String) }),
      z.strictObject({ a: z.string() }).refine(() => true),
      z.union([z.strictObject({ a: z.string() })]),
      z.array(z.strictObject({ a: z.string() })).max(1),
      z.date(),
      z.strictObject({
        a: z
          .string()
          .optional()
          .refine(() => true),
      }),
      z.strictObject({
        a: z
          .string()
          .nullable()
          .refine(() => true),
      }),
      z.strictObject({ a: z.enum(['x']).refine(() => true) }),
    ]) {
      expect(jsonTextOf(schema)({ a: 'x' })).toBe(undefined);
    }
    expect(jsonTextOf(z.tuple([z.string()], z.string()))(['x', 'y'])).toBe(undefined);
  });

  it.each([
    ['a format that is more than its pattern', z.ipv6(), '2001:db8::1', '"2001:db8::1"'],
    ['the same, refused', z.ipv6(), '2001:db8::g', undefined],
    ['a trimmed text', z.string().trim(), 'a', '"a"'],
    ['a text that is changed', z.string().trim(), 'a ', undefined],
    ['a multiple', z.number().multipleOf(2), 4, '4'],
    ['no multiple', z.number().multipleOf(2), 3, undefined],
    ['a bound that is not taken', z.number().gt(2), 2, undefined],
    ['above it', z.number().gt(2), 2.5, '2.5'],
    ['minus zero', z.number(), -0, '0'],
    ['a large number', z.number(), 1e21, '1e+21'],
    ['infinity', z.number(), Number.POSITIVE_INFINITY, undefined],
    ['null of a nullable', z.string().nullable(), null, 'null'],
    ['an object for a checked scalar', z.string().trim(), { trim: 'a' }, undefined],
  ])('asks zod about scalars it has no line for: %s', (_, schema, value, text) => {
    expect(jsonTextOf(schema)(value)).toBe(text);
  });
});
