/** For calls of the host's functions, which may throw, or return a promise that rejects. */

/** Returns what a function of the host returns, or `undefined` if it throws. */
export function tryCall<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** Not `instanceof`: a host may replace the global Promise (zone.js, bluebird), but async functions return Node's. */
export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof Reflect.get(value, 'then') === 'function';

/** Ignores the rejection of a promise that the host's code returned, which would otherwise crash the process. */
export function ignoreRejection(returned: unknown): void {
  if (isPromiseLike(returned)) Promise.resolve(returned).then(undefined, () => {});
}
