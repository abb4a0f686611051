/** Deeply frozen plain data, and its type. */
import type { JsonValue } from './json-value.ts';

/** Types that {@link Frozen} leaves unchanged. */
type Opaque = Date | ((...given: never) => unknown);

// Named types, since the compiler cannot expand an infinite type.
type FrozenJson = string | number | boolean | null | readonly FrozenJson[] | FrozenJsonObject;
interface FrozenJsonObject {
  readonly [key: string]: FrozenJson;
}

/** Deeply readonly. */
export type Frozen<T> = T extends Opaque
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

/** Deeply freezes plain data, and returns it. The data must be our own copy, without cycles. */
export function deepFreeze<T>(data: T): T {
  if (typeof data !== 'object' || data === null) return data;
  for (const part of Object.values(data)) deepFreeze(part);
  return Object.freeze(data);
}
