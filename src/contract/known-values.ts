/**
 * Schemas of few values, for json-text.ts: booleans, words and the like. Their texts are made beforehand, so
 * that a field of them adds one piece to the text of its object, and calls nothing.
 */
import type * as z from 'zod';
import { scalarText } from './scalar-text.ts';

/** All values, with their JSON. */
export type KnownValues = ReadonlyMap<unknown, string>;

const BOOLEANS: readonly unknown[] = [true, false];

/** Nothing where one of them is no JSON. */
export function textsOf(values: Iterable<unknown> = []): KnownValues | undefined {
  const texts = new Map<unknown, string>();
  for (const value of values) {
    const text = scalarText(value);
    if (text === undefined) return undefined;
    texts.set(value, text);
  }
  return texts.size === 0 ? undefined : texts;
}

interface Def {
  readonly type: string;
  readonly checks?: readonly unknown[];
  readonly innerType?: z.core.$ZodType;
}

/** Nothing where they are not known, or are checked further. */
export function knownValuesOf(schema: z.core.$ZodType): KnownValues | undefined {
  const { type, checks = [], innerType }: Def = schema._zod.def;
  if (checks.length > 0) return undefined;
  if (type === 'boolean') return textsOf(BOOLEANS);
  if (type === 'null') return textsOf([null]);
  if (type === 'enum' || type === 'literal') return textsOf(schema._zod.values);
  const held = type === 'nullable' && innerType && knownValuesOf(innerType);
  return held ? new Map([...held, [null, 'null']]) : undefined;
}
