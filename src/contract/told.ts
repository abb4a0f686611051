/**
 * Fields of which the fast path tells what it read, beside the text of the whole: json-text.ts. Whoever
 * needs them must not read the value a second time, where a getter may answer otherwise.
 */
import type * as z from 'zod';

export interface Telling {
  /** Under this name. */
  readonly as: string;
  /** The value itself, of fields that hold a string alone; or its JSON. */
  readonly what: 'given' | 'json';
}

const marked = <S extends z.ZodType>(schema: S, telling: Telling): S => {
  Object.assign(schema._zod.def, { telling });
  return schema;
};

/** `schema`, of a string, which is told under the name `as`. It must be nobody else's. */
export const told = <S extends z.ZodType<string, string>>(schema: S, as: string): S =>
  marked(schema, { as, what: 'given' });

/** `schema`, whose JSON is told under the name `as`. It must be nobody else's. */
export const toldAsJson = <S extends z.ZodType>(schema: S, as: string): S =>
  marked(schema, { as, what: 'json' });
