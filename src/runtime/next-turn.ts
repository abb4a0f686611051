/** Resolves after what is already waiting for this turn of the event loop; no time is waited for. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
