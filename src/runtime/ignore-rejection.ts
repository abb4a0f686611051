import { isPromiseLike } from './is-promise-like.ts';

/** A function of the host's may be asynchronous: nobody waits for it, and it must not end the process. */
export function calm(answer: unknown): void {
  if (isPromiseLike(answer)) Promise.resolve(answer).then(undefined, nothing);
}

const nothing = (): void => {};
