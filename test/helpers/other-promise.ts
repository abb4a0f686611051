/**
 * The global Promise, replaced for all modules of this process while a function runs, as zone.js and
 * bluebird do: what an async function gives is none of it.
 */
export async function withOtherPromise<T>(act: () => Promise<T>): Promise<T> {
  const native = globalThis.Promise;
  class OtherPromise<V> extends native<V> {}
  globalThis.Promise = OtherPromise;
  try {
    return await act();
  } finally {
    globalThis.Promise = native;
  }
}
