/** Schemas of free-form JSON, which validate and copy in one pass: see json-value.ts. */
import * as z from 'zod';
import { isObject } from './dispatch.ts';
import { kindOf } from './error-messages.ts';
import { copyJson, type JsonObject, type JsonValue } from './json-value.ts';
import { MAX_ISSUES, TOO_MANY_ISSUES } from './list.ts';

/** One kind of free-form JSON. */
export interface Form {
  readonly what: string;
  readonly accepts: (input: unknown) => boolean;
  /** The same rule in JSON Schema. */
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  /** Whether its values must be strings, numbers or booleans. */
  readonly onlyScalars?: true;
  /** The function of json-fragments.ts that generated serialisers call for it. */
  readonly serializer: 'freeFormObject' | 'freeFormObjectOrArray' | 'scalarObject';
}

const isScalar = (element: JsonValue): boolean => typeof element !== 'object';

const OBJECT: Form = {
  what: 'an object',
  accepts: isObject,
  jsonSchema: { type: 'object' },
  serializer: 'freeFormObject',
};

const OBJECT_OR_ARRAY: Form = {
  what: 'an array or an object',
  accepts: (input) => typeof input === 'object' && input !== null,
  jsonSchema: { type: ['array', 'object'] },
  serializer: 'freeFormObjectOrArray',
};

const SCALARS: Form = {
  ...OBJECT,
  jsonSchema: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
  onlyScalars: true,
  serializer: 'scalarObject',
};

function freeForm<Out, In>(form: Form): z.ZodType<Out, In> {
  const { what, accepts, jsonSchema, onlyScalars = false } = form;
  const schema = z
    .unknown()
    .transform((input, ctx): unknown => {
      const refuse = (message: string, path: readonly PropertyKey[] = []): void => {
        ctx.issues.push({ code: 'custom', message, path: [...path], input });
      };
      if (!accepts(input)) {
        refuse(`expected ${what}, found ${kindOf(input)}`);
        return z.NEVER;
      }
      const copy = copyJson(input);
      if (!copy.ok) {
        refuse(copy.message, copy.path);
        return z.NEVER;
      }
      if (!onlyScalars) return copy.value;
      for (const [key, element] of Object.entries(copy.value as JsonObject)) {
        if (isScalar(element)) continue;
        if (ctx.issues.length >= MAX_ISSUES) {
          refuse(TOO_MANY_ISSUES);
          break;
        }
        refuse(`expected a string, a number or a boolean, found ${kindOf(element)}`, [key]);
      }
      return copy.value;
    })
    .meta(jsonSchema);
  // For the generator of serialisers.
  Object.assign(schema._zod.def, { freeForm: form });
  return schema as unknown as z.ZodType<Out, In>;
}

type AnyObject = Readonly<Record<string, unknown>>;

/** Any JSON object. */
export const jsonObject = (): z.ZodType<JsonObject, AnyObject> => freeForm(OBJECT);

/** Any JSON object or array. */
export const jsonObjectOrArray = (): z.ZodType<
  JsonObject | JsonValue[],
  AnyObject | readonly unknown[]
> => freeForm(OBJECT_OR_ARRAY);

type Scalar = string | number | boolean;

/** A JSON object whose values are strings, numbers or booleans (D10). */
export const scalarObject = (): z.ZodType<
  Record<string, Scalar>,
  Readonly<Record<string, Scalar | undefined>>
> => freeForm(SCALARS);
