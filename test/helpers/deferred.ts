/** A promise, and what settles it: for what a test holds up. */
export function deferred() {
  let [resolve, reject] = [nothing, nothing as (error: Error) => void];
  const promise = new Promise<void>((resolvePromise, rejectPromise) => {
    resolve = resolvePromise;
    reject = rejectPromise;
  });
  return { promise, resolve, reject };
}

const nothing = (): void => {};
