import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { dispatch } from '../../src/contract/dispatch.ts';

describe('dispatch', () => {
  it('is a zod union of its options', () => {
    const union = dispatch(() => 0, [z.object({ a: z.string() }), z.object({ b: z.number() })]);
    expect(union).toBeInstanceOf(z.ZodUnion);
    expect(union.options).toHaveLength(2);
    expect(z.toJSONSchema(union)['anyOf']).toHaveLength(2);
  });

  it('rejects an input that matches no option', () => {
    expect(() => dispatch(() => 1, [z.unknown()]).safeParse('x')).toThrow(TypeError);
  });
});
