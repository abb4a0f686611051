/**
 * Texts as PostgreSQL keeps them. Its own cannot hold U+0000 or half a surrogate pair, which ids may:
 * they are kept as they stand within the quotes of a JSON string.
 */
import type { Json } from '../queue.ts';

export const toText = (word: string): string => JSON.stringify(word).slice(1, -1);

export const fromText = (text: string): string => JSON.parse(`"${text}"`) as string;

export const toJsonText = (value: Json): string => JSON.stringify(value);

export const fromJsonText = (text: string): Json => JSON.parse(text) as Json;

/** As bigint: numbers of the engine's may be infinite or have fractions. */
export const toWhole = (value: number): number =>
  Math.min(Math.max(Math.floor(value), 0), Number.MAX_SAFE_INTEGER);
