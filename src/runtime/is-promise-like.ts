/**
 * Whether it is to be waited for. Not by `instanceof`: a host may have another Promise in the place of
 * Node's (zone.js, bluebird), and what an async function gives is then none of that one.
 */
export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof Reflect.get(value, 'then') === 'function';
