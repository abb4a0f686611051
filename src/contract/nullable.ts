/** A nullable schema: its error messages name null beside the other expected type. */
import * as z from 'zod';
import { addMessage } from './error-messages.ts';

const Nullable = /*@__PURE__*/ z.core.$constructor<z.ZodNullable, z.core.$ZodNullableDef>(
  'SecurityEventNullable',
  (inst, def) => {
    const base: typeof z.ZodNullable = z.ZodNullable;
    base.init(inst, def);
    inst._zod.parse = (payload, ctx) => {
      if (payload.value === null) return payload;
      const result = def.innerType._zod.run(payload, ctx) as z.core.ParsePayload;
      result.issues.forEach(addNull);
      return result;
    };
  },
);

/** Changes the message of an issue of the value itself, not of its fields. */
function addNull(issue: z.core.$ZodRawIssue): void {
  if (issue.path !== undefined && issue.path.length > 0) return;
  addMessage(issue);
  const message = issue.message?.replace(/^expected /, 'expected null or ');
  Object.assign(issue, { message });
}

/** Like `z.nullable`. */
export const nullable = <T extends z.ZodType>(innerType: T): z.ZodNullable<T> =>
  new Nullable({ type: 'nullable', innerType }) as unknown as z.ZodNullable<T>;
