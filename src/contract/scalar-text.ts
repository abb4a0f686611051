/** The scalars of json-text.ts: numbers with the checks that the contract uses. For strings see string-text.ts. */
import type * as z from 'zod';
import { textOfNumber, textOfString } from './text-of-json.ts';

/** What was read of a value on the way, by the names of the fields that are to be told: see told.ts. */
export type Told = Record<string, string | undefined>;

/** The value as JSON, if it is valid and comes out of the schema as it is. */
export type TextOf = (value: unknown, told?: Told) => string | undefined;

/** What is read of the definition of a scalar. */
export interface ScalarDef {
  readonly checks?: readonly z.core.$ZodCheck[];
  readonly format?: string;
  readonly pattern?: RegExp;
}

type Maker = (def: ScalarDef, schema: z.core.$ZodType) => TextOf;

export function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return textOfString(value);
  if (typeof value === 'number') return Number.isFinite(value) ? textOfNumber(value) : undefined;
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  return value === null ? 'null' : undefined;
}

/** Whether zod takes a scalar as it is: for formats and checks that have no line here. */
export function isTakenByZod(schema: z.core.$ZodType, value: unknown): boolean {
  const result = schema._zod.run({ value, issues: [] }, { async: false });
  return !(result instanceof Promise) && result.issues.length === 0 && result.value === value;
}

export interface CheckDef {
  readonly check: string;
  readonly format?: string;
  readonly pattern?: RegExp;
  readonly minimum?: number;
  readonly value?: unknown;
  readonly inclusive?: boolean;
}

export const checksOf = ({ checks = [] }: ScalarDef): readonly CheckDef[] =>
  checks.map((check) => check._zod.def as unknown as CheckDef);

export const numberText: Maker = (def, schema) => {
  const own = def.format === undefined ? [] : [def as unknown as CheckDef];
  let [min, max, isInteger] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, false];
  for (const { check, format, value, inclusive } of [...own, ...checksOf(def)]) {
    const bound = typeof value === 'number' && inclusive === true ? value : undefined;
    if (check === 'number_format' && format === 'safeint') isInteger = true;
    else if (check === 'greater_than' && bound !== undefined) min = Math.max(min, bound);
    else if (check === 'less_than' && bound !== undefined) max = Math.min(max, bound);
    else {
      return (given) =>
        typeof given === 'number' && isTakenByZod(schema, given) ? scalarText(given) : undefined;
    }
  }
  return (value) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
    if (value < min || value > max || (isInteger && !Number.isSafeInteger(value))) return undefined;
    return textOfNumber(value);
  };
};
