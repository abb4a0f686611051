/**
 * Express 4 drops the promises that its handlers return: an async one that blocks its request would
 * be an unhandled rejection, which ends the host's process. Express 5 passes them to `next`.
 */
import { types } from 'node:util';
import { readProperty } from '../own-properties.ts';
import { currentScope } from './request-scope.ts';

type Handler = (...given: readonly unknown[]) => unknown;

/** What Express 4 keeps of each handler, and calls it by. */
interface Layer {
  readonly handle: Handler;
}

const METHODS = ['handle_request', 'handle_error'] as const;

const prepared = new WeakSet<object>();

/**
 * From now on blocks in async handlers of Express 4 get to `next`, for every application of the same
 * copy of Express. Does nothing where the request is of another host, Express 5 among them.
 */
export function passBlocksOn(request: object): void {
  const layers = layersOf(request);
  if (layers === undefined || prepared.has(layers)) return;
  prepared.add(layers);
  for (const method of METHODS) {
    const original: unknown = Reflect.get(layers, method);
    if (typeof original !== 'function') continue;
    // What another package put in its place is still called.
    Reflect.set(layers, method, function call(this: Layer, ...given: readonly unknown[]): unknown {
      const handle = { value: passingOn(this.handle) };
      return Reflect.apply(original, Object.create(this, { handle }), given);
    });
  }
}

/** The class of what Express 4 keeps of each handler: its own way of finding the next one. */
function layersOf(request: object): object | undefined {
  let found: unknown = request;
  for (const name of ['app', '_router', 'stack', '0']) {
    if ((typeof found !== 'object' && typeof found !== 'function') || found === null)
      return undefined;
    found = readProperty(found, name);
  }
  if (typeof found !== 'object' || found === null) return undefined;
  const layers: unknown = Object.getPrototypeOf(found);
  const isOfExpress = typeof layers === 'object' && layers !== null && METHODS[0] in layers;
  return isOfExpress ? layers : undefined;
}

/**
 * The promise is left alone until its request is blocked: all other rejections, handled or not, end
 * as they would without us.
 */
function passingOn(handle: Handler): Handler {
  const passing: Handler = (...given) => {
    const next = given.at(-1) as (error?: unknown) => void;
    let passedOn: unknown;
    const result = handle(...given.slice(0, -1), (error?: unknown) => {
      passedOn = error;
      next(error);
    });
    if (types.isPromise(result)) {
      currentScope()?.whenBlocked(() => {
        result.catch((error: unknown) => {
          // A handler that takes care of itself has done so by now.
          // oxlint-disable-next-line promise/no-callback-in-promise -- there is no promise for Express
          if (error !== passedOn) next(error);
        });
      });
    }
    return result;
  };
  // Express tells handlers of errors by it.
  return Object.defineProperty(passing, 'length', { value: handle.length });
}
