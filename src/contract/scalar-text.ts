/** The scalars of json-text.ts: strings and numbers with the checks that the contract uses. */
import type * as z from 'zod';
import { textOfNumber, textOfString } from './text-of-json.ts';

/** The value as JSON, if it is valid and comes out of the schema as it is. */
export type TextOf = (value: unknown) => string | undefined;

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

/** A scalar that zod itself checks: for formats and checks that have no line here. */
const checkedByZod =
  (schema: z.core.$ZodType): TextOf =>
  (value) => {
    if (typeof value === 'object') return undefined;
    const result = schema._zod.run({ value, issues: [] }, { async: false });
    const isSame =
      !(result instanceof Promise) && result.issues.length === 0 && result.value === value;
    return isSame ? scalarText(value) : undefined;
  };

interface CheckDef {
  readonly check: string;
  readonly format?: string;
  readonly pattern?: RegExp;
  readonly minimum?: number;
  readonly value?: unknown;
  readonly inclusive?: boolean;
}

const checksOf = ({ checks = [] }: ScalarDef): readonly CheckDef[] =>
  checks.map((check) => check._zod.def as unknown as CheckDef);

/** Formats that are their pattern and nothing else. */
const PATTERN_FORMATS: readonly (string | undefined)[] = ['cidrv4', 'ipv4', 'regex'];

export const stringText: Maker = (def, schema) => {
  const own = def.format === undefined ? [] : [def as unknown as CheckDef];
  const patterns: RegExp[] = [];
  let minimum = 0;
  for (const { check, format, pattern, minimum: least } of [...own, ...checksOf(def)]) {
    if (check === 'min_length' && least !== undefined) minimum = Math.max(minimum, least);
    else if (PATTERN_FORMATS.includes(format) && pattern !== undefined) patterns.push(pattern);
    else return checkedByZod(schema);
  }
  const [first, ...rest] = patterns;
  return (value) => {
    if (typeof value !== 'string' || value.length < minimum) return undefined;
    if (first !== undefined && !first.test(value)) return undefined;
    for (const pattern of rest) if (!pattern.test(value)) return undefined;
    return textOfString(value);
  };
};

export const numberText: Maker = (def, schema) => {
  const own = def.format === undefined ? [] : [def as unknown as CheckDef];
  let [min, max, isInteger] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, false];
  for (const { check, format, value, inclusive } of [...own, ...checksOf(def)]) {
    const bound = typeof value === 'number' && inclusive === true ? value : undefined;
    if (check === 'number_format' && format === 'safeint') isInteger = true;
    else if (check === 'greater_than' && bound !== undefined) min = Math.max(min, bound);
    else if (check === 'less_than' && bound !== undefined) max = Math.min(max, bound);
    else return checkedByZod(schema);
  }
  return (value) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
    if (value < min || value > max || (isInteger && !Number.isSafeInteger(value))) return undefined;
    return textOfNumber(value);
  };
};
