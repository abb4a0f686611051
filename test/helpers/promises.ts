/* oxlint-disable unicorn/no-thenable -- a Promise has a `then` */
/** Promises for tests: deferred, replaced, rejecting. */

/** Returns a promise with its `resolve` and `reject`. */
export function deferred() {
  let [resolve, reject] = [nothing, nothing as (error: Error) => void];
  const promise = new Promise<void>((resolvePromise, rejectPromise) => {
    resolve = resolvePromise;
    reject = rejectPromise;
  });
  return { promise, resolve, reject };
}

const nothing = (): void => {};

/**
 * Replaces the global Promise while `act` runs, as zone.js and bluebird do. Async functions still return
 * native promises.
 */
export const withReplacedPromise = <T>(act: () => Promise<T>): Promise<T> =>
  withPromise((native) => class OtherPromise<V> extends native<V> {}, act);

/** Like `withReplacedPromise`, with callbacks in a later turn of the event loop, as bluebird may do. */
export const withSlowPromise = <T>(act: () => Promise<T>): Promise<T> =>
  withPromise(
    (native) =>
      class SlowPromise<V> extends native<V> {
        static override get [Symbol.species]() {
          return native;
        }

        // biome-ignore lint/suspicious/noThenProperty: a Promise has one
        override then<A = V, B = never>(
          good?: ((value: V) => A | PromiseLike<A>) | null,
          bad?: ((reason: unknown) => B | PromiseLike<B>) | null,
        ): Promise<A | B> {
          const later = (value: V) =>
            new native<A>((resolve) => {
              setImmediate(() => resolve(good ? good(value) : (value as never)));
            });
          return super.then(later, bad);
        }
      },
    act,
  );

async function withPromise<T>(
  other: (native: PromiseConstructor) => PromiseConstructor,
  act: () => Promise<T>,
): Promise<T> {
  const native = globalThis.Promise;
  globalThis.Promise = other(native);
  try {
    return await act();
  } finally {
    globalThis.Promise = native;
  }
}

/** An async listener that rejects. `caught` counts how often a rejection handler was attached. */
export function rejectingListener(): {
  readonly listen: () => unknown;
  readonly caught: () => number;
} {
  let caught = 0;
  const listen = (): unknown => {
    const answer = Promise.reject(new Error('of the host'));
    const native = answer.then.bind(answer);
    const then: typeof native = (onFulfilled, onRejected) => {
      if (onRejected) caught += 1;
      return native(onFulfilled, onRejected);
    };
    Reflect.set(answer, 'then', then);
    return answer;
  };
  return { listen, caught: () => caught };
}
