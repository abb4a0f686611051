/** Samples with some of their fields changed. */

/**
 * Some of the fields of `T`, however deep; `undefined` leaves a field out. Arrays and free-form
 * objects are given whole.
 */
export type Overrides<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? string extends keyof T
      ? T
      : { readonly [K in keyof T]?: Overrides<T[K]> | undefined }
    : T;

/** A copy of `base` in which what `overrides` has stands in its place; objects are merged. */
export function override<T>(base: T, overrides: unknown): T {
  return merged(structuredClone(base), overrides) as T;
}

function merged(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over;
  // By entries: a key such as `__proto__` is a key like any other.
  const fields = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) fields.delete(key);
    else fields.set(key, merged(fields.get(key), value));
  }
  return Object.fromEntries(fields);
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
