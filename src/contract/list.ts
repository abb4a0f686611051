/**
 * An array of which so many faults are told and no more: a megabyte of wrong numbers has half a million, each
 * of which zod would keep with a path and a message. What cannot be valid any more is not looked at to its end.
 */
import * as z from 'zod';

/** More than a request has messages. */
export const MOST_FAULTS = 1000;

/** Behind the last fault that is told. */
export const AND_MORE = `more than ${MOST_FAULTS} faults: what follows was not looked at`;

// zod's own declarations are looser about optional properties than this project's compiler flags.
const initArray = (inst: unknown, def: unknown): void => {
  const array: z.core.$constructor<z.ZodArray> = z.ZodArray;
  array.init(inst as z.ZodArray, def as z.core.$ZodArrayDef);
};

const List = /*@__PURE__*/ z.core.$constructor<z.ZodArray, z.core.$ZodArrayDef>(
  'SecurityEventList',
  (inst, def) => {
    initArray(inst, def);
    const plainly = inst._zod.parse.bind(inst._zod);
    inst._zod.parse = (payload, ctx) => {
      const input: unknown = payload.value;
      // What is awaited is zod's business, and so is what is no array.
      if (!Array.isArray(input) || ctx.async === true) return plainly(payload, ctx);
      const { issues } = payload;
      const values: unknown[] = [];
      for (const [index, value] of input.entries()) {
        const result = def.element._zod.run({ value, issues: [] }, ctx) as z.core.ParsePayload;
        values.push(result.value);
        if (result.issues.length === 0) continue;
        issues.push(...z.core.util.prefixIssues(index, result.issues));
        if (issues.length < MOST_FAULTS) continue;
        issues.push({ code: 'custom', message: AND_MORE, input, path: [], inst });
        break;
      }
      payload.value = values;
      return payload;
    };
  },
);

/** As `z.array`. */
export function list<T extends z.ZodType>(
  element: T,
  params: { readonly error?: (issue: z.core.$ZodRawIssue) => string | undefined } = {},
): z.ZodArray<T> {
  return new List({ type: 'array', element, ...params }) as unknown as z.ZodArray<T>;
}
