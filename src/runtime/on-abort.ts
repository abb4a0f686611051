import { getMaxListeners, setMaxListeners } from 'node:events';

/**
 * Calls `listener` when `signal` is aborted, at once if it already is; the function handed back
 * takes the listener off. The signal is the host's and may be shared by any number of our calls:
 * their listeners do not count towards Node's leak warning, which would go to the host's console
 * (D80), and the limit is put back as it was.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => {};
  }
  const moveLimit = (by: 1 | -1): void => {
    const limit = listenerLimit(signal);
    if (limit > 0) setMaxListeners(limit + by, signal);
  };
  let isListening = true;
  const takeOff = (): void => {
    if (!isListening) return;
    isListening = false;
    signal.removeEventListener('abort', onEvent);
    moveLimit(-1);
  };
  const onEvent = (): void => {
    takeOff();
    listener();
  };
  moveLimit(1);
  signal.addEventListener('abort', onEvent);
  return takeOff;
}

/** 0 is no limit: also for a signal that is not Node's own (a polyfill's), which warns of nothing. */
function listenerLimit(signal: AbortSignal): number {
  try {
    return getMaxListeners(signal);
  } catch {
    // Node 20 also throws for a signal of its own whose limit is 0.
    return 0;
  }
}

/**
 * Ends a wait that nobody needs any more. The reason is given, since a default reason is an error with its stack:
 * two took an eighth of an attempt's CPU.
 */
export function cancelWait(wait: AbortController): void {
  wait.abort('not needed any more');
}
