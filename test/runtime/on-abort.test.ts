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

  test('calls the listener at once where the signal is aborted already', () => {
    const signal = AbortSignal.abort();
    const limit = getMaxListeners(signal);
    const listener = vi.fn<() => void>();
    onAbort(signal, listener)();
    expect(listener).toHaveBeenCalledTimes(1);
    expect(getMaxListeners(signal)).toBe(limit);
  });

  test('does not call a listener that was taken off', () => {
    const controller = new AbortController();
    const listener = vi.fn<() => void>();
    onAbort(controller.signal, listener)();
    controller.abort();
    expect(listener).not.toHaveBeenCalled();
  });

  test.each([
    ['taken off', (takeOff: () => void) => takeOff()],
    [
      'taken off twice',
      (takeOff: () => void) => {
        takeOff();
        takeOff();
      },
    ],
    [
      'called and then taken off',
      (takeOff: () => void, controller: AbortController) => {
        controller.abort();
        takeOff();
      },
    ],
  ])("leaves the signal's limit of listeners as it was once it is %s", (_what, finish) => {
    const controller = new AbortController();
    setMaxListeners(3, controller.signal);
    const takeOff = onAbort(controller.signal, () => {});
    expect(getMaxListeners(controller.signal)).toBe(4);
    finish(takeOff, controller);
    expect(getMaxListeners(controller.signal)).toBe(3);
  });

  test('leaves a signal without a limit without one', () => {
    const controller = new AbortController();
    setMaxListeners(0, controller.signal);
    const listener = vi.fn<() => void>();
    const takeOff = onAbort(controller.signal, listener);
    takeOff();
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
    const heard = vi.fn<() => void>();
    onAbort(polyfill, heard);
    for (const listener of listeners) listener();
    expect(heard).toHaveBeenCalledTimes(1);
    expect(listeners.size).toBe(0);
  });
});
