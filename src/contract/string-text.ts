/**
 * The strings of json-text.ts, without their quotes: whoever writes an object puts those beside its keys,
 * and makes fewer pieces of text so. A record or message is strings for the most part.
 */
import type * as z from 'zod';
import {
  type CheckDef,
  checksOf,
  isTakenByZod,
  type ScalarDef,
  type TextOf,
} from './scalar-text.ts';
import { bareText } from './text-of-json.ts';

/** What is read of the definition of a schema whose values may be strings alone. */
export interface StringDef extends ScalarDef {
  readonly type: string;
  readonly options?: readonly z.core.$ZodType[];
  readonly choose?: (input: unknown) => unknown;
}

/** Formats that are their pattern and nothing else. */
const PATTERN_FORMATS: readonly (string | undefined)[] = ['cidrv4', 'ipv4', 'regex'];

const anyString: TextOf = (value) => (typeof value === 'string' ? bareText(value) : undefined);

const matching =
  (pattern: RegExp): TextOf =>
  (value) =>
    typeof value === 'string' && pattern.test(value) ? bareText(value) : undefined;

function stringOf(def: StringDef, schema: z.core.$ZodType): TextOf {
  const own = def.format === undefined ? [] : [def as unknown as CheckDef];
  const patterns: RegExp[] = [];
  let minimum = 0;
  for (const { check, format, pattern, minimum: least } of [...own, ...checksOf(def)]) {
    if (check === 'min_length' && least !== undefined) minimum = Math.max(minimum, least);
    else if (PATTERN_FORMATS.includes(format) && pattern !== undefined) patterns.push(pattern);
    else {
      return (value) =>
        typeof value === 'string' && isTakenByZod(schema, value) ? bareText(value) : undefined;
    }
  }
  const [first] = patterns;
  if (minimum === 0 && patterns.length < 2)
    return first === undefined ? anyString : matching(first);
  return (value) => {
    if (typeof value !== 'string' || value.length < minimum) return undefined;
    return patterns.every((pattern) => pattern.test(value)) ? bareText(value) : undefined;
  };
}

function wordOf({ _zod: { values = new Set() } }: z.core.$ZodType): TextOf | undefined {
  const texts = new Map<unknown, string>();
  for (const value of values) {
    if (typeof value !== 'string') return undefined;
    texts.set(value, bareText(value));
  }
  return texts.size === 0 ? undefined : (value) => texts.get(value);
}

function templateOf(schema: z.core.$ZodType): TextOf | undefined {
  const { pattern } = schema._zod as { readonly pattern?: RegExp };
  return pattern && matching(pattern);
}

/** Of our own unions alone, which say what they would choose. */
function unionOf({ options = [], choose }: StringDef): TextOf | undefined {
  const texts = options.map(bareOf);
  if (choose === undefined || texts.includes(undefined)) return undefined;
  return (value) => {
    const choice = choose(value);
    return typeof choice === 'number' ? texts[choice]?.(value) : undefined;
  };
}

/** What stands between the quotes; nothing where the values of `schema` are not known to be strings. */
export function bareOf(schema: z.core.$ZodType): TextOf | undefined {
  const def: StringDef = schema._zod.def;
  if (def.type === 'string') return stringOf(def, schema);
  if (def.checks !== undefined && def.checks.length > 0) return undefined;
  if (def.type === 'enum' || def.type === 'literal') return wordOf(schema);
  if (def.type === 'template_literal') return templateOf(schema);
  return def.type === 'union' ? unionOf(def) : undefined;
}

/** The string with its quotes. */
export const quoted =
  (bare: TextOf): TextOf =>
  (value) => {
    const text = bare(value);
    return text === undefined ? undefined : `"${text}"`;
  };
