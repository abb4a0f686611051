/** Plain data that many hold and nobody may change: so says its type, and so it is. */
import type { JsonValue } from './json-value.ts';

type Whole = Date | ((...given: never) => unknown);

// Named, since compilers give up on what is made for each level of a type that has no end.
type FrozenJson = string | number | boolean | null | readonly FrozenJson[] | FrozenJsonObject;
interface FrozenJsonObject {
  readonly [key: string]: FrozenJson;
}

/** Readonly to its leaves. */
export type Frozen<T> = T extends Whole
  ? T
  : T extends readonly unknown[]
    ? FrozenArray<T>
    : T extends object
      ? FrozenObject<T>
      : T;

type FrozenArray<T extends readonly unknown[]> = JsonValue extends T[number]
  ? readonly FrozenJson[]
  : { readonly [K in keyof T]: Frozen<T[K]> };

type FrozenObject<T extends object> = string extends keyof T
  ? JsonValue extends T[string & keyof T]
    ? FrozenJsonObject
    : { readonly [K in keyof T]: Frozen<T[K]> }
  : { readonly [K in keyof T]: Frozen<T[K]> };

/** Freezes plain data to its leaves, and gives it. It must be nobody else's, and hold no circle. */
export function frozen<T>(data: T): T {
  if (typeof data !== 'object' || data === null) return data;
  for (const part of Object.values(data)) frozen(part);
  return Object.freeze(data);
}
