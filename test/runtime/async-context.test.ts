import { AsyncLocalStorage, AsyncResource, createHook } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { describe, expect, test, vi } from 'vitest';
import { currentStore, runDetached, runWithStore } from '../../src/runtime/async-context.ts';

test('a store is visible within the work, also later, and not outside', async () => {
  const store = {};
  const later = runWithStore(store, async () => {
    await nextTurn();
    return currentStore();
  });
  expect(currentStore()).toBeUndefined();
  expect(await later).toBe(store);
});

describe('detached work', () => {
  const number = new AsyncLocalStorage<number>();
  const object = new AsyncLocalStorage<object>();
  const stores = () => [currentStore(), number.getStore(), object.getStore()];
  const STORE = {};
  const NONE = [STORE, undefined, undefined];
  const within = <T>(work: () => T): T =>
    runWithStore({}, () => number.run(7, () => object.run({}, work)));

  test('has its own store and no other, now or later', async () => {
    const [now, promised, timed] = within(() =>
      runDetached(STORE, () => [
        stores(),
        nextTurn().then(stores),
        new Promise((resolve) => setTimeout(() => resolve(stores()), 0)),
      ]),
    );
    expect([now, await promised, await timed]).toEqual([NONE, NONE, NONE]);
  });

  test('can enter stores, which no other work sees', async () => {
    const later = runDetached(STORE, () => {
      number.enterWith(1);
      return nextTurn().then(() => number.getStore());
    });
    expect(number.getStore()).toBeUndefined();
    expect(runDetached(STORE, () => number.getStore())).toBeUndefined();
    expect(await later).toBe(1);
  });

  test("restores the caller's stores when it returns or throws", () => {
    const boom = new Error('of the work');
    within(() => {
      const before = stores();
      expect(runDetached(STORE, () => 'given')).toBe('given');
      expect(() =>
        runDetached(STORE, () => {
          throw boom;
        }),
      ).toThrow(boom);
      expect(stores()).toEqual(before);
      expect(before[1]).toBe(7);
    });
  });

  test('runs in its own async resource', () => {
    const calls: string[] = [];
    let ours = 0;
    const hook = createHook({
      init: (id, type) => {
        if (type === 'security-event-delivery') ours = id;
      },
      before: (id) => void (id === ours && calls.push('before')),
      after: (id) => void (id === ours && calls.push('after')),
    }).enable();
    runDetached(STORE, () => calls.push('work'));
    hook.disable();
    expect(calls).toEqual(['before', 'work', 'after']);
  });

  test('has no OpenTelemetry context (context-async-hooks 2) even if the module is imported within one', async () => {
    const manager = new AsyncLocalStorageContextManager().enable();
    const key = createContextKey('span');
    const request = ROOT_CONTEXT.setValue(key, 'of a request');
    const spanOf = () => manager.active().getValue(key);
    vi.resetModules();
    const imported = await manager.with(request, async () => ({
      fresh: await import('../../src/runtime/async-context.ts'),
      // The public API, which would keep the first request in memory for the life of the process.
      outside: AsyncLocalStorage.snapshot(),
    }));
    expect(imported.fresh.runDetached(STORE, spanOf)).toBeUndefined();
    expect(imported.outside(spanOf)).toBe('of a request');
    manager.disable();
  });

  test('runs in the current context if Node stores ids differently', async () => {
    const list = vi.spyOn(Object, 'getOwnPropertySymbols');
    const others = [
      [],
      [Symbol('async_id_symbol'), Symbol('trigger_async_id_symbol')],
      Object.getOwnPropertySymbols(new AsyncResource('test')).slice(0, 1),
    ];
    for (const symbols of others) {
      // The module looks for the symbols once.
      vi.resetModules();
      const fresh = await import('../../src/runtime/async-context.ts');
      list.mockReturnValueOnce(symbols);
      expect(number.run(7, () => fresh.runDetached(STORE, () => number.getStore()))).toBe(7);
      expect(number.run(7, () => fresh.runDetached(STORE, () => number.getStore()))).toBe(7);
    }
    list.mockRestore();
    // Later tests must not get the module that found other symbols.
    vi.resetModules();
    expect(number.run(7, () => runDetached(STORE, () => number.getStore()))).toBeUndefined();
  });
});
