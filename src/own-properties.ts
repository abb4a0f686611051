/**
 * Reads objects of the host, and ignores keys that an attack added to `Object.prototype`. Each public
 * function copies its options and input once; the code behind it reads only such copies.
 */

/**
 * Returns a shallow copy without a prototype: an inherited key must never act as an option, a trusted
 * CA, a URL or a part of an event. Returns an empty object for a value that is not an object. Runs
 * getters, which may throw.
 */
export function ownProperties<T extends object>(given: T): T {
  return Object.assign(Object.create(null) as T, isObjectLike(given) ? given : {});
}

/**
 * Returns a property of an object that cannot be copied, such as a request or a stream: its own or its
 * class's, but not one of `Object.prototype`. Runs getters, which may throw.
 */
export function readProperty(source: object, name: string): unknown {
  if (!Object.hasOwn(Object.prototype, name)) return Reflect.get(source, name);
  let owner: object | null = source;
  while (owner !== null && owner !== Object.prototype) {
    if (Object.hasOwn(owner, name)) return Reflect.get(source, name);
    owner = Object.getPrototypeOf(owner) as object | null;
  }
  return undefined;
}

/** Returns a copy without the keys whose value is undefined, which count as absent. */
export function definedProperties<T extends object>(given: T): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}

/** Returns whether a value is an object, also an array. */
export const isObjectLike = (value: unknown): value is object =>
  typeof value === 'object' && value !== null;

/** Returns whether an object of the host has these methods. */
export const hasMethods = (value: unknown, ...names: readonly string[]): value is object =>
  isObjectLike(value) && names.every((name) => typeof readProperty(value, name) === 'function');
