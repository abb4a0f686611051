/** Not `instanceof`: a host may replace the global Promise (zone.js, bluebird), but async functions return Node's. */
export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof Reflect.get(value, 'then') === 'function';
