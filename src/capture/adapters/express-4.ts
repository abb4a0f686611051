/**
 * Passes each block (a `RequestBlockedError`) from async handlers of Express 4 to its error handlers. Express 4
 * drops the promises that handlers return, and a rejection crashes the process: an attacker whose request is
 * blocked would stop the host. Express 5 passes rejections to `next`; this file makes Express 4 do the same
 * in a request that is blocked.
 *
 * It patches Express's own classes, as tracers do. Only Express gets the promises of handlers, so the
 * alternatives are to change every handler of the application, or to listen for `unhandledRejection`,
 * which would silence the host's own rejections.
 */
import { types } from 'node:util';
import { readProperty } from '../../own-properties.ts';
import { currentScope } from '../request/request-scope.ts';

type Handler = (...args: readonly unknown[]) => unknown;
type Next = (error?: unknown) => void;

/** Marks a patched object, so that this copy of the package patches it once. */
const PATCHED = Symbol('passes blocks to next');

/** Index of `next` in the arguments of a handler, and of an error handler. */
const NEXT_INDEX = 2;
const ERROR_NEXT_INDEX = 3;

/**
 * Patches the copy of Express 4 that created `application`, if the application has a handler. Ignores anything
 * else.
 */
export function passBlocksToNext(application: unknown): void {
  const router = isObject(application) ? readProperty(application, '_router') : undefined;
  const stack = isObject(router) ? readProperty(router, 'stack') : undefined;
  const layer: unknown = Array.isArray(stack) ? stack[0] : undefined;
  if (!isObject(layer)) return;
  const layerClass: unknown = Object.getPrototypeOf(layer);
  if (!isObject(layerClass) || !('handle_request' in layerClass)) return;
  if (Object.hasOwn(layerClass, PATCHED)) return;
  Reflect.defineProperty(layerClass, PATCHED, { value: true });
  patch(layerClass, 'handle_request', (self) => ({
    handle: { value: wrapHandle(self, NEXT_INDEX) },
  }));
  patch(layerClass, 'handle_error', (self) => ({
    handle: { value: wrapHandle(self, ERROR_NEXT_INDEX) },
  }));
  patch(Object.getPrototypeOf(router) as object, 'process_params', (self) => ({
    params: { value: wrapCallbacks(self) },
  }));
}

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

type ChangesOf = (self: object) => PropertyDescriptorMap;

/** Calls the original method on a derived, changed object: other packages may patch the method too. */
function patch(owner: object, method: string, changesOf: ChangesOf): void {
  const original = readProperty(owner, method);
  if (typeof original !== 'function') return;
  Reflect.set(owner, method, function call(this: object, ...args: readonly unknown[]): unknown {
    if (currentScope() === undefined) return Reflect.apply(original, this, args);
    return Reflect.apply(original, Object.create(this, changesOf(this)), args);
  });
}

const wrapHandle = (layer: object, nextAt: number): Handler =>
  wrapHandler(readProperty(layer, 'handle') as Handler, nextAt);

/** `app.param` keeps lists of callbacks by the name of the parameter. */
function wrapCallbacks(router: object): unknown {
  const callbacks = readProperty(router, 'params') as Readonly<Record<string, readonly Handler[]>>;
  const wrapped = Object.entries(callbacks).map(
    ([name, list]) => [name, list.map((handler) => wrapHandler(handler, NEXT_INDEX))] as const,
  );
  return Object.fromEntries(wrapped);
}

/** Handles a rejection only if the request is blocked: in other requests, the host's behaviour stays. */
function wrapHandler(handler: Handler, nextAt: number): Handler {
  const wrapped: Handler = (...args) => {
    const next = args[nextAt] as Next;
    let passedOn: unknown;
    const passOn: Next = (error) => {
      passedOn = error;
      next(error);
    };
    const result = handler(...args.slice(0, nextAt), passOn, ...args.slice(nextAt + 1));
    if (types.isPromise(result)) {
      currentScope()?.whenBlocked(() => {
        // The handler may have passed the error to `next` itself.
        result.catch((error: unknown) => {
          if (error !== passedOn) passOn(error);
        });
      });
    }
    return result;
  };
  // Express recognises error handlers by their number of parameters.
  return Object.defineProperty(wrapped, 'length', { value: handler.length });
}
