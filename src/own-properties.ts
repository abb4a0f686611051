/**
 * How objects that the library did not make are read: without what an attack put on `Object.prototype`.
 * Each public function copies its options and input once; the code behind it reads only such copies.
 */

/**
 * Returns a shallow copy without a prototype. An inherited key is not an option, a field or a fact:
 * not a CA to trust, not a URL, not a part of an event. What is no object has no properties. Runs
 * getters, which may throw.
 */
export function ownProperties<T extends object>(given: T): T {
  const isObject = typeof given === 'object' && given !== null;
  return Object.assign(Object.create(null) as T, isObject ? given : {});
}

/**
 * Returns a property of an object that cannot be copied, such as a request or a stream: its own or that
 * of its class, but not one of `Object.prototype`. Runs getters, which may throw.
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
