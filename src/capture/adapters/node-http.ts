/** `security-event-delivery/node-http`: captures requests of node:http, node:https and node:http2. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { A_FUNCTION, unusableOption } from '../../option-rules.ts';
import { isPromiseLike } from '../../runtime/host-calls.ts';
import { type CaptureOptions, readCaptureOptions } from '../request/capture-options.ts';
import type { HttpRequest } from '../request/http-request.ts';
import { isRequestBlocked } from '../request/request-blocked-error.ts';
import { scopeOf } from '../request/request-capture.ts';
import { type RequestScope, runInScope } from '../request/request-scope.ts';
import { type NodeResponse, sendBlocked, statusOf } from './blocked-response.ts';
import { passBlocksToNext } from './express-4.ts';

export type { NodeResponse } from './blocked-response.ts';

/** A listener for `createServer`. It may return a promise. */
export type RequestListener<Q, S> = (request: Q, response: S) => unknown;

/**
 * Wraps a listener so that its requests are captured: everything it runs, also asynchronously, finds the
 * request's context. A `RequestBlockedError` that it throws or rejects with gets a response with
 * its `status`; all other errors propagate.
 *
 * Node emits events of the request's stream (`request.on('end', …)`) outside the request's context: wrap
 * such a listener with `AsyncResource.bind`, or read the body with `for await`.
 *
 * For a node:http2 server with its own classes, annotate the listener's parameters.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests<
  Q extends HttpRequest = IncomingMessage,
  S extends NodeResponse = ServerResponse,
>(listener: RequestListener<Q, S>, options?: CaptureOptions): RequestListener<Q, S> {
  const settings = readCaptureOptions(options);
  if (!A_FUNCTION.isUsable(listener)) throw unusableOption(A_FUNCTION, ['listener']);
  return (request, response) => {
    const scope = scopeOf(request, settings, { status: statusOf(response) });
    const onError = (error: unknown): void => endBlocked(error, response, scope);
    // An application of Express 4 may itself be the listener.
    passBlocksToNext(listener);
    try {
      const result = runInScope(scope, () => listener(request, response));
      return isPromiseLike(result) ? result.then(undefined, onError) : result;
    } catch (error) {
      return onError(error);
    }
  };
}

function endBlocked(error: unknown, response: NodeResponse, scope: RequestScope): void {
  if (!isRequestBlocked(error)) throw error;
  sendBlocked(error, response, scope);
}
