/** `security-event-delivery/node-http`: requests of node:http, node:https and node:http2. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CaptureOptions } from '../request/capture-options.ts';
import type { HttpRequest } from '../request/http-request.ts';
import { isRequestBlocked } from '../request/request-blocked-error.ts';
import { createScopes } from '../request/request-capture.ts';
import { type RequestScope, runInScope } from '../request/request-scope.ts';
import { answerBlock, type NodeResponse, statusOf } from './blocked-answer.ts';
import { passBlocksToNext } from './express-4.ts';

export type { NodeResponse } from './blocked-answer.ts';

/** What `createServer` takes, and what it may give: a promise is watched. */
export type RequestListener<Q, S> = (request: Q, response: S) => unknown;

/**
 * Makes a listener whose requests are captured: whatever runs on behalf of one, however deep and
 * late, finds its context. A `RequestBlockedError` that it throws, or rejects with, is answered with
 * `blockedStatus`; every other error goes where it would have gone.
 *
 * Events of the request's own stream (`request.on('end', …)`) are Node's, not the request's: give
 * such a listener through `AsyncResource.bind`, or read the body by `for await`.
 *
 * For a server of node:http2 with options of its own, name the types of the listener's parameters.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests<
  Q extends HttpRequest = IncomingMessage,
  S extends NodeResponse = ServerResponse,
>(listener: RequestListener<Q, S>, options?: CaptureOptions): RequestListener<Q, S> {
  const scopeOf = createScopes(options);
  return (request, response) => {
    const scope = scopeOf(request, statusOf(response));
    const onError = (error: unknown): void => endBlocked(error, response, scope);
    // An application of Express 4 may itself be the listener.
    passBlocksToNext(listener);
    try {
      const result = runInScope(scope, () => listener(request, response));
      return isPromise(result) ? result.then(undefined, onError) : result;
    } catch (error) {
      return onError(error);
    }
  };
}

function endBlocked(error: unknown, response: NodeResponse, scope: RequestScope): void {
  if (!isRequestBlocked(error)) throw error;
  answerBlock(error, response, scope);
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof Reflect.get(value, 'then') === 'function';
