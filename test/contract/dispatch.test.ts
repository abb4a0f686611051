import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { dispatch, isObject } from '../../src/contract/dispatch.ts';
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
  it('keeps a message of the schema itself', () => {
    expect(issuesOf(byKind, { kind: 'number', value: 'x' })).toEqual([
      { code: 'invalid_type', path: ['value'], message: 'expected a measure, found a string' },
    ]);
  });

  it("uses zod's message if we have none", () => {
    expect(
      issuesOf(
        dispatch(() => 0, [z.email()]),
        'x',
      ),
    ).toEqual([{ code: 'invalid_format', path: [], message: 'Invalid email address' }]);
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

  it('rejects an input that matches no option', () => {
    expect(() => dispatch(() => 1, [z.unknown()]).safeParse('x')).toThrow(TypeError);
  });
});
