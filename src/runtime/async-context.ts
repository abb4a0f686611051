/**
 * What surrounds a call, however deep and late: the library's one AsyncLocalStorage, and the way out
 * of everybody's.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { once } from '../once.ts';

/** The only state of a module in this library: Node ties it to the call, not to the process. */
const ambient = new AsyncLocalStorage<object | undefined>();

/** Runs `work`, and all that it starts, within these surroundings. Gives what `work` gives, or throws. */
export const runWithin = <T>(surroundings: object | undefined, work: () => T): T =>
  ambient.run(surroundings, work);

export const currentSurroundings = (): object | undefined => ambient.getStore();

/** Under these names Node keeps who a resource is: all that running in its context takes. */
const ID_NAMES: readonly (string | undefined)[] = ['async_id_symbol', 'trigger_async_id_symbol'];

/**
 * Runs `work`, and all that it starts, within these surroundings and in no store of another AsyncLocalStorage: what we do in the background must not keep the request alive that happened to start it.
 *
 * `AsyncLocalStorage.snapshot()` cannot give that: it keeps the context in which it is taken, and a host may import
 * this library within a request, as route handlers that load lazily do (async-context.test.ts). So a resource is made here and
 * only its ids are taken on. The stores stay behind, whether Node keeps them as properties of the
 * resource (20, 22) or in a context frame (24 and later). Where Node keeps the ids otherwise, `work` runs
 * where it is.
 */
export function runDetached<T>(surroundings: object, work: () => T): T {
  const outside = idsOnly(new AsyncResource('security-event-delivery'), idKeys());
  if (outside === undefined) return runWithin(surroundings, work);
  // Without a function of our own between: it would be one more in the stacks of errors.
  return outside.runInAsyncScope(ambient.run.bind(ambient)<T>, undefined, surroundings, work);
}

/** The keys of the ids; looking for them takes most of the time of a way out. */
const idKeys = once((): readonly symbol[] =>
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
