/** Changes fields of samples. */

/** Some fields of `T`, at any depth; `undefined` removes a field. Arrays and free-form objects are replaced. */
export type Overrides<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? string extends keyof T
      ? T
      : { readonly [K in keyof T]?: Overrides<T[K]> | undefined }
    : T;

/** Returns a copy of `base` with the `overrides`; objects are merged. */
export function override<T>(base: T, overrides: unknown): T {
  return merged(structuredClone(base), overrides) as T;
}

function merged(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over;
  // Entries, so that `__proto__` is an ordinary key.
  const fields = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) fields.delete(key);
    else fields.set(key, merged(fields.get(key), value));
  }
  return Object.fromEntries(fields);
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
