/**
 * Texts as PostgreSQL stores them. Its own cannot hold U+0000 or half a surrogate pair, which ids may
 * contain: texts are stored as they are written between the quotes of a JSON string.
 */
export const toEscaped = (text: string): string => JSON.stringify(text).slice(1, -1);

export const fromEscaped = (escaped: string): string => JSON.parse(`"${escaped}"`) as string;

/** Converts a number of the engine, which may be infinite or have a fraction, to a bigint. */
export const toWhole = (value: number): number =>
  Math.min(Math.max(Math.floor(value), 0), Number.MAX_SAFE_INTEGER);

/** JSON has no infinity; the schema takes 1e18 ms for never. */
export const toDuration = (ms: number): number => Math.min(ms, 1e18);
