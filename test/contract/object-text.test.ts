import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { jsonTextOf } from '../../src/contract/json-text.ts';
import { told } from '../../src/contract/told.ts';
import { quickOrWhole } from '../helpers/quick-or-whole.ts';

/** Fields of few values, whose text is made beforehand, in each place among others. */
const KINDS = {
  yes: z.boolean(),
  perhaps: z.boolean().nullable(),
  word: z.enum(['a', 'say "b"', '\ud800', '']),
  four: z.literal([4, 0, 'four', null, true]),
  nothing: z.null(),
  text: z.string(),
  port: z.int().min(0),
};

const WRAPPINGS = [
  (kind: z.ZodType) => kind,
  (kind: z.ZodType) => kind.optional(),
  (kind: z.ZodType) => (kind === KINDS.yes ? kind.default(true) : kind),
];

const kinds = fc.constantFrom(...Object.values(KINDS));

const shapes = fc.dictionary(
  fc.constantFrom('yes', 'a', 'b"', '__proto', 'é', '0'),
  fc.tuple(kinds, fc.constantFrom(...WRAPPINGS)).map(([kind, wrap]) => wrap(kind)),
  { maxKeys: 5 },
);

const SCALARS = [true, false, null, undefined, 'a', 'say "b"', '\ud800', '', 'four', 4, 0, -0, 1];
const OTHERS = ['c', Number.NaN, 4n, [], {}, new String('a')];
const values = fc.constantFrom<unknown>(...SCALARS, ...OTHERS);

const cases = shapes.chain((shape) =>
  fc.record({
    schema: fc.constant(z.strictObject(shape)),
    input: fc.record(Object.fromEntries(Object.keys(shape).map((key) => [key, values])), {
      requiredKeys: [],
    }),
  }),
);

/** zod makes code of its own later on. */
function withoutGeneratedCode<T>(make: () => T): T {
  vi.stubGlobal('Function', () => {
    throw new EvalError('Code generation from strings disallowed for this context');
  });
  try {
    return make();
  } finally {
    vi.unstubAllGlobals();
  }
}

describe('the text of an object', () => {
  it.each([
    ['code that is made for its shape', jsonTextOf],
    ['no generated code', (schema: z.ZodType) => withoutGeneratedCode(() => jsonTextOf(schema))],
  ])('is what zod and JSON.stringify make of it, or nothing, with %s', (_, textFor) => {
    let taken = 0;
    fc.assert(
      fc.property(cases, ({ schema, input }) => {
        const result = schema.safeParse(input);
        expect(textFor(schema)(input)).toBe(
          result.success ? JSON.stringify(result.data) : undefined,
        );
        if (result.success) taken += 1;
      }),
      { numRuns: quickOrWhole(500, 20_000), seed: 7 },
    );
    expect(taken).toBeGreaterThan(50);
  });

  it('is that of the value that was given now, whatever was given before', () => {
    const name = z.string().regex(/^[^x]*$/);
    const schema = z.strictObject({
      at: z.int().optional(),
      first: told(z.string(), 'first'),
      second: name,
      last: told(z.string(), 'last'),
    });
    const text = fc.constantFrom('shop', 'say "b"', '', 'xenon', 'a'.repeat(40), 'b'.repeat(41));
    const input = fc.record(
      { at: fc.constantFrom(1, undefined), first: text, second: text, last: text },
      { requiredKeys: ['first', 'last'] },
    );
    fc.assert(
      fc.property(fc.array(input, { minLength: 2 }), (inputs) => {
        const textOf = jsonTextOf(schema);
        for (const one of inputs) {
          const result = schema.safeParse(one);
          const expected = result.success ? JSON.stringify(result.data) : undefined;
          const heard = { first: undefined, last: undefined };
          expect(textOf(one, heard)).toBe(expected);
          // Of what is refused it does not matter what was told on the way.
          const isHeard = heard.first === one.first && heard.last === one.last;
          expect(isHeard || !result.success).toBe(true);
          expect(textOf(one)).toBe(expected);
        }
      }),
      { numRuns: quickOrWhole(300, 5000), seed: 7 },
    );
  });
});
