import { getMaxListeners, setMaxListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { onAbort } from '../../src/runtime/on-abort.ts';

describe('onAbort', () => {
  test('calls the listener once, when the signal is aborted', () => {
    const controller = new AbortController();
    const listener = vi.fn<() => void>();
    onAbort(controller.signal, listener);
    expect(listener).not.toHaveBeenCalled();
    controller.abort();
    controller.signal.dispatchEvent(new Event('abort'));
    expect(listener).toHaveBeenCalledTimes(1);
  });

  test('calls the listener at once if the signal is already aborted', () => {
    const signal = AbortSignal.abort();
    const limit = getMaxListeners(signal);
    const listener = vi.fn<() => void>();
    onAbort(signal, listener)();
    expect(listener).toHaveBeenCalledTimes(1);
    expect(getMaxListeners(signal)).toBe(limit);
  });

  test.each([
    ['removed', (remove: () => void) => remove()],
    [
      'removed twice',
      (remove: () => void) => {
        remove();
        remove();
      },
    ],
    [
      'called and then removed',
      (remove: () => void, controller: AbortController) => {
        controller.abort();
        remove();
      },
    ],
  ])("restores the signal's listener limit when it is %s", (_what, finish) => {
    const controller = new AbortController();
    setMaxListeners(3, controller.signal);
    const remove = onAbort(controller.signal, () => {});
    expect(getMaxListeners(controller.signal)).toBe(4);
    finish(remove, controller);
    expect(getMaxListeners(controller.signal)).toBe(3);
  });

  test('does not limit a signal without a limit', () => {
    const controller = new AbortController();
    setMaxListeners(0, controller.signal);
    const listener = vi.fn<() => void>();
    const remove = onAbort(controller.signal, listener);
    remove();
    const many = Array.from({ length: 20 }, () => onAbort(controller.signal, listener));
    controller.abort();
    expect(many).toHaveLength(20);
    expect(listener).toHaveBeenCalledTimes(20);
  });

  test("listens to a signal that is not Node's own", () => {
    const listeners = new Set<() => void>();
    const polyfill = {
      aborted: false,
      addEventListener: (_type: string, listener: () => void) => listeners.add(listener),
      removeEventListener: (_type: string, listener: () => void) => listeners.delete(listener),
    } as unknown as AbortSignal;
    const onAborted = vi.fn<() => void>();
    onAbort(polyfill, onAborted);
    for (const listener of listeners) listener();
    expect(onAborted).toHaveBeenCalledTimes(1);
    expect(listeners.size).toBe(0);
  });
});
