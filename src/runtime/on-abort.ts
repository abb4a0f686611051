import { getMaxListeners, setMaxListeners } from 'node:events';

/**
 * Calls `listener` when `signal` is aborted, or at once if it already is. Returns a function that removes
 * the listener. Many calls may share the host's signal: each raises its listener limit by one, so that
 * Node prints no leak warning, and lowers it again.
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
  const stopListening = (): void => {
    if (!isListening) return;
    isListening = false;
    signal.removeEventListener('abort', onEvent);
    moveLimit(-1);
  };
  const onEvent = (): void => {
    stopListening();
    listener();
  };
  moveLimit(1);
  signal.addEventListener('abort', onEvent);
  return stopListening;
}

/** Returns 0, no limit, for a signal that is not Node's own (a polyfill), which never warns. */
function listenerLimit(signal: AbortSignal): number {
  try {
    return getMaxListeners(signal);
  } catch {
    // Node 20 also throws for its own signals if their limit is 0.
    return 0;
  }
}

/**
 * Cancels a wait. The explicit reason avoids the default one, an error with a stack: two of those took an
 * eighth of an attempt's CPU.
 */
export function cancelWait(wait: AbortController): void {
  wait.abort('not needed any more');
}
