/**
 * An array schema with a limit on issues: a megabyte of wrong numbers has half a million of them, and zod
 * would keep each with a path and a message. Validation stops at the limit.
 */
import * as z from 'zod';

export const MAX_ISSUES = 1000;

/** Added after the last reported issue. */
export const TOO_MANY_ISSUES = `more than ${MAX_ISSUES} issues: the rest was not checked`;

const List = /*@__PURE__*/ z.core.$constructor<z.ZodArray, z.core.$ZodArrayDef>(
  'SecurityEventList',
  (inst, def) => {
    const base: typeof z.ZodArray = z.ZodArray;
    base.init(inst, def);
    const parseArray = inst._zod.parse.bind(inst._zod);
    inst._zod.parse = (payload, ctx) => {
      const input: unknown = payload.value;
      if (!Array.isArray(input)) return parseArray(payload, ctx);
      const { issues } = payload;
      const values: unknown[] = [];
      for (const [index, value] of input.entries()) {
        const result = def.element._zod.run({ value, issues: [] }, ctx) as z.core.ParsePayload;
        values.push(result.value);
        if (result.issues.length === 0) continue;
        issues.push(...z.core.util.prefixIssues(index, result.issues));
        if (issues.length < MAX_ISSUES) continue;
        issues.push({ code: 'custom', message: TOO_MANY_ISSUES, input, path: [], inst });
        break;
      }
      payload.value = values;
      return payload;
    };
  },
);

/** Like `z.array`. */
export const list = <T extends z.ZodType>(element: T): z.ZodArray<T> =>
  new List({ type: 'array', element }) as unknown as z.ZodArray<T>;
