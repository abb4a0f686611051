import { isPromiseLike } from './is-promise-like.ts';

/** Ignores the rejection of a promise that the host's code returned, which would otherwise crash the process. */
export function ignoreRejection(returned: unknown): void {
  if (isPromiseLike(returned)) Promise.resolve(returned).then(undefined, () => {});
}
