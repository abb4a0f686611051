import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { jsonTextOf } from '../../src/contract/json-text.ts';
import { told } from '../../src/contract/told.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

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
      { numRuns: quickOrNightly(500, 20_000), seed: 7 },
    );
    expect(taken).toBeGreaterThan(50);
  });

  it('is that of the value that was given now, whatever was given before', () => {
    const name = z.string().regex(/^[^x]*$/);
    // Of keys whose strings are kept, but for one.
    const schema = z.strictObject({
      at: z.int().optional(),
      env: told(z.string(), 'env'),
      name,
      other: name,
      svc_id: told(z.string(), 'svc_id'),
    });
    const text = fc.constantFrom('shop', 'say "b"', '', 'xenon', 'a'.repeat(40), 'b'.repeat(41));
    const input = fc.record(
      { at: fc.constantFrom(1, undefined), env: text, name: text, other: text, svc_id: text },
      { requiredKeys: ['env', 'svc_id'] },
    );
    fc.assert(
      fc.property(fc.array(input, { minLength: 2 }), (inputs) => {
        const textOf = jsonTextOf(schema);
        for (const one of inputs) {
          const result = schema.safeParse(one);
          const expected = result.success ? JSON.stringify(result.data) : undefined;
          const heard = { env: undefined, svc_id: undefined };
          expect(textOf(one, heard)).toBe(expected);
          // Of what is refused it does not matter what was told on the way.
          const isHeard = heard.env === one.env && heard.svc_id === one.svc_id;
          expect(isHeard || !result.success).toBe(true);
          expect(textOf(one)).toBe(expected);
        }
      }),
      { numRuns: quickOrNightly(300, 5000), seed: 7 },
    );
  });

  it('holds nothing of what a name was cut from', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const textOf = jsonTextOf(z.strictObject({ name: z.string(), env: z.string(), at: z.int() }));
    const heapMb = (): number => {
      collect();
      return process.memoryUsage().heapUsed / 2 ** 20;
    };
    const read = (size: number): string | undefined => {
      const large = 'n'.repeat(size).split('').join('');
      return textOf({ name: large.slice(5, 35), env: large.slice(5, 45), at: 1 });
    };
    expect(read(100)).toBe(`{"name":"${'n'.repeat(30)}","env":"${'n'.repeat(40)}","at":1}`);
    const beforeMb = heapMb();
    read(20 * 2 ** 20);
    expect(heapMb() - beforeMb).toBeLessThan(10);
  });
});
