/**
 * Returns a shallow copy that inherits nothing: what an attack put on Object.prototype must not become a part
 * of an event. A value that is no object gives an empty one. Runs getters, which may throw.
 */
export function ownProperties<T extends object>(given: T): T {
  const isObject = typeof given === 'object' && given !== null;
  return Object.assign(Object.create(null) as T, isObject ? given : {});
}
