/**
 * A shallow copy that inherits nothing: what an attack put on Object.prototype must not become a part
 * of an event. What is no object has nothing of its own. Runs getters, which may throw.
 */
export function own<T extends object>(given: T): T {
  const isObject = typeof given === 'object' && given !== null;
  return Object.assign(Object.create(null) as T, isObject ? given : {});
}
