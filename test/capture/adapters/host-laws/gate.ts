/** Lets a handler wait for what the test does after the answer. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
}

export function closedGate(): Gate {
  let resolve: (() => void) | undefined;
  const opened = new Promise<void>((given) => {
    resolve = given;
  });
  return { opened, open: () => resolve?.() };
}
