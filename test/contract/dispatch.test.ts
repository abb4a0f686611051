import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { dispatch, hasAny, isObject } from '../../src/contract/dispatch.ts';
import { expecting } from '../../src/contract/error-messages.ts';

const byKind = dispatch(
  (input) => {
    const kind = isObject(input) ? input['kind'] : undefined;
    if (kind === 'text') return 0;
    return kind === 'number' ? 1 : { key: 'kind', words: ['text', 'number'] };
  },
  [
    z.object({ kind: z.literal('text'), value: z.string() }),
    z.object({ kind: z.literal('number'), value: z.number({ error: expecting('a measure') }) }),
  ],
);

const issuesOf = (schema: z.ZodType, input: unknown) =>
  schema.safeParse(input).error?.issues.map(({ code, path, message }) => ({ code, path, message }));

describe('dispatch', () => {
  it.each([[{ kind: 'text', value: 'x' }], [{ kind: 'number', value: 5 }]])(
    'parses with the option that was chosen: %j',
    (input) => {
      expect(byKind.parse(input)).toEqual(input);
    },
  );

  it('tells the faults of the chosen option alone, in our words', () => {
    expect(issuesOf(byKind, { kind: 'text', value: 5 })).toEqual([
      { code: 'invalid_type', path: ['value'], message: 'expected a string, found a number' },
    ]);
  });

  it('leaves a message of the schema itself as it is', () => {
    expect(issuesOf(byKind, { kind: 'number', value: 'x' })).toEqual([
      { code: 'invalid_type', path: ['value'], message: 'expected a measure, found a string' },
    ]);
  });

  it("lets zod's errorMessage stand where we have none", () => {
    expect(
      issuesOf(
        dispatch(() => 0, [z.email()]),
        'x',
      ),
    ).toEqual([{ code: 'invalid_format', path: [], message: 'Invalid email address' }]);
  });

  it('names the key and the words where no option is chosen', () => {
    expect(issuesOf(byKind, { kind: 'list' })).toEqual([
      {
        code: 'invalid_value',
        path: ['kind'],
        message: 'expected one of "text", "number", found "list"',
      },
    ]);
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['an array', []],
    ['a string', 'text'],
  ])('asks for an object where none is chosen and the input is %s', (kind, input) => {
    expect(issuesOf(byKind, input)).toEqual([
      { code: 'invalid_type', path: [], message: `expected an object, found ${kind}` },
    ]);
  });

  it('keeps the paths of the objects around it', () => {
    expect(issuesOf(z.object({ list: z.array(byKind) }), { list: [{ kind: 'x' }] })).toEqual([
      {
        code: 'invalid_value',
        path: ['list', 0, 'kind'],
        message: 'expected one of "text", "number", found "x"',
      },
    ]);
  });

  it('waits for an asynchronous option and words its issues too', async () => {
    const later = dispatch(
      () => 0,
      [z.object({ n: z.number() }).refine(() => Promise.resolve(true))],
    );
    expect(await later.parseAsync({ n: 1 })).toEqual({ n: 1 });
    const refused = await later.safeParseAsync({ n: 'x' });
    expect(refused.error?.issues[0]?.message).toBe('expected a number, found a string');
    const inner = dispatch(
      () => 0,
      [
        z
          .string()
          .transform(async (text) => text.length)
          .pipe(z.number().min(2)),
      ],
    );
    const short = await inner.safeParseAsync('a');
    expect(short.error?.issues[0]?.message).toBe('expected at least 2, found 1');
  });

  it('is a zod union of its options', () => {
    expect(byKind).toBeInstanceOf(z.ZodUnion);
    expect(byKind.options).toHaveLength(2);
    expect(z.toJSONSchema(byKind)['anyOf']).toHaveLength(2);
  });

  it('never lets an input pass where the choice is no option', () => {
    expect(() => dispatch(() => 1, [z.unknown()]).safeParse('x')).toThrow(TypeError);
  });
});

describe('isObject', () => {
  it.each([[{}], [Object.create(null)], [new Date(0)]])('is true for %o', (value) => {
    expect(isObject(value)).toBe(true);
  });

  it.each([[undefined], [null], ['x'], [5], [[]], [() => 0]])('is false for %o', (value) => {
    expect(isObject(value)).toBe(false);
  });
});

describe('hasAny', () => {
  it.each([
    [true, { a: 1 }],
    [true, { b: null }],
    [true, { a: undefined, b: 0 }],
    [false, {}],
    [false, { c: 1 }],
    [false, { a: undefined }],
    [false, null],
    [false, 'a'],
    [false, ['a']],
  ])('is %s for %j', (expected, input) => {
    expect(hasAny(input, ['a', 'b'])).toBe(expected);
  });
});
