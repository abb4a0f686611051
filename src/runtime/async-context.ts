/** The library's one AsyncLocalStorage, and a way to leave the contexts of all others. */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { lazyValue } from '../lazy-value.ts';

type Storage = AsyncLocalStorage<object | undefined>;

/** All copies of the package in a process share the storage: a bundle often has several. */
const SHARED = Symbol.for('security-event-delivery.async-context');

/** One object for the process, but with a separate value in each async context. Created on first use. */
const ambient = lazyValue((): Storage => {
  const known: unknown = Reflect.get(globalThis, SHARED);
  if (known instanceof AsyncLocalStorage) return known as Storage;
  const created: Storage = new AsyncLocalStorage();
  // Returns false if the host has frozen its globals: then this copy has a storage of its own.
  Reflect.defineProperty(globalThis, SHARED, { configurable: true, value: created });
  return created;
});

/** Runs `work`, and everything that it starts, with this context value. Returns or throws what `work` does. */
export const runWithStore = <T>(store: object | undefined, work: () => T): T =>
  ambient().run(store, work);

export const currentStore = (): object | undefined => ambient().getStore();

export type AsyncContext = Pick<AsyncResource, 'runInAsyncScope'>;

/**
 * Remembers the current async context, for callbacks that must run with the caller's stores and spans. Costs
 * less than a promise, which would also restore it.
 */
export const captureAsyncContext = (): AsyncContext => new AsyncResource('security-event-delivery');

/** Symbols under which Node stores the ids of a resource, the only part needed to run in its context. */
const ID_NAMES: readonly (string | undefined)[] = ['async_id_symbol', 'trigger_async_id_symbol'];

/**
 * Runs `work`, and everything that it starts, with this context value and outside the stores of all other
 * AsyncLocalStorages: background work must not keep the request alive that happened to start it.
 *
 * `AsyncLocalStorage.snapshot()` does not help: it keeps the context in which it is taken, and a host may
 * import this library during a request, as lazily loaded route handlers do (async-context.test.ts). So this
 * creates a resource and copies only its ids. The stores stay behind, whether Node keeps them as properties
 * of the resource (20, 22) or in a context frame (24 and later). If Node stores the ids in another way,
 * `work` runs in the current context.
 */
export function runDetached<T>(store: object, work: () => T): T {
  const outside = idsOnly(new AsyncResource('security-event-delivery'), idKeys());
  if (outside === undefined) return runWithStore(store, work);
  // `bind` instead of a function of our own, which would add a frame to stack traces.
  const storage = ambient();
  return outside.runInAsyncScope(storage.run.bind(storage)<T>, undefined, store, work);
}

/** Looked up once: that takes most of the time of `runDetached`. */
const idKeys = lazyValue((): readonly symbol[] =>
  Object.getOwnPropertySymbols(new AsyncResource('security-event-delivery')).filter(
    ({ description }) => ID_NAMES.includes(description),
  ),
);

function idsOnly(resource: AsyncResource, keys: readonly symbol[]): AsyncResource | undefined {
  const bare = Object.create(AsyncResource.prototype) as AsyncResource;
  for (const key of keys) {
    const id: unknown = Reflect.get(resource, key);
    if (typeof id !== 'number') return undefined;
    Reflect.set(bare, key, id);
  }
  return keys.length === ID_NAMES.length ? bare : undefined;
}
