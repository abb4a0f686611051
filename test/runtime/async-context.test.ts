import { AsyncLocalStorage, AsyncResource, createHook } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { describe, expect, test, vi } from 'vitest';
import { currentStore, runDetached, runWithStore } from '../../src/runtime/async-context.ts';

describe('surroundings', () => {
  test('are those of the work, however late, and none outside', async () => {
    const surroundings = {};
    const later = runWithStore(surroundings, async () => {
      await nextTurn();
      return currentStore();
    });
    expect(currentStore()).toBeUndefined();
    expect(await later).toBe(surroundings);
  });

  test('may be none within others', () => {
    const found = runWithStore({}, () => runWithStore(undefined, currentStore));
    expect(found).toBeUndefined();
  });
});

describe('detached work', () => {
  const number = new AsyncLocalStorage<number>();
  const object = new AsyncLocalStorage<object>();
  const stores = () => [currentStore(), number.getStore(), object.getStore()];
  const SURROUNDINGS = {};
  const NONE = [SURROUNDINGS, undefined, undefined];
  const within = <T>(work: () => T): T =>
    runWithStore({}, () => number.run(7, () => object.run({}, work)));

  test('has its surroundings and no store of anybody else, now or later', async () => {
    const [now, promised, timed] = within(() =>
      runDetached(SURROUNDINGS, () => [
        stores(),
        nextTurn().then(stores),
        new Promise((resolve) => setTimeout(() => resolve(stores()), 0)),
      ]),
    );
    expect([now, await promised, await timed]).toEqual([NONE, NONE, NONE]);
  });

  test('may have stores of its own, which nothing else has', async () => {
    const later = runDetached(SURROUNDINGS, () => {
      number.enterWith(1);
      return nextTurn().then(() => number.getStore());
    });
    expect(number.getStore()).toBeUndefined();
    expect(runDetached(SURROUNDINGS, () => number.getStore())).toBeUndefined();
    expect(await later).toBe(1);
  });

  test('leaves what surrounds it as it was, whether it gives or throws', () => {
    const boom = new Error('of the work');
    within(() => {
      const before = stores();
      expect(runDetached(SURROUNDINGS, () => 'given')).toBe('given');
      expect(() =>
        runDetached(SURROUNDINGS, () => {
          throw boom;
        }),
      ).toThrow(boom);
      expect(stores()).toEqual(before);
      expect(before[1]).toBe(7);
    });
  });

  test('is a resource of its own to whoever watches, entered and left', () => {
    const told: string[] = [];
    let ours = 0;
    const hook = createHook({
      init: (id, type) => {
        if (type === 'security-event-delivery') ours = id;
      },
      before: (id) => void (id === ours && told.push('before')),
      after: (id) => void (id === ours && told.push('after')),
    }).enable();
    runDetached(SURROUNDINGS, () => told.push('work'));
    hook.disable();
    expect(told).toEqual(['before', 'work', 'after']);
  });

  test('is in no context of OpenTelemetry (context-async-hooks 2) if it is imported within one', async () => {
    const manager = new AsyncLocalStorageContextManager().enable();
    const key = createContextKey('span');
    const request = ROOT_CONTEXT.setValue(key, 'of a request');
    const spanOf = () => manager.active().getValue(key);
    vi.resetModules();
    const imported = await manager.with(request, async () => ({
      fresh: await import('../../src/runtime/async-context.ts'),
      // The public way, which would keep the first request for as long as the process lives.
      outside: AsyncLocalStorage.snapshot(),
    }));
    expect(imported.fresh.runDetached(SURROUNDINGS, spanOf)).toBeUndefined();
    expect(imported.outside(spanOf)).toBe('of a request');
    manager.disable();
  });

  test('runs where it is where Node keeps ids otherwise', async () => {
    const list = vi.spyOn(Object, 'getOwnPropertySymbols');
    const others = [
      [],
      [Symbol('async_id_symbol'), Symbol('trigger_async_id_symbol')],
      Object.getOwnPropertySymbols(new AsyncResource('test')).slice(0, 1),
    ];
    for (const symbols of others) {
      // It looks for them once.
      vi.resetModules();
      const fresh = await import('../../src/runtime/async-context.ts');
      list.mockReturnValueOnce(symbols);
      expect(number.run(7, () => fresh.runDetached(SURROUNDINGS, () => number.getStore()))).toBe(7);
      expect(number.run(7, () => fresh.runDetached(SURROUNDINGS, () => number.getStore()))).toBe(7);
    }
    list.mockRestore();
    // Nobody else is to get the one that found other keys.
    vi.resetModules();
    expect(number.run(7, () => runDetached(SURROUNDINGS, () => number.getStore()))).toBeUndefined();
  });
});
