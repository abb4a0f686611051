/** `security-event-delivery/express`: captures requests of Express 5 and 4, and of compatible frameworks. */
import { readProperty } from '../../own-properties.ts';
import { type CaptureOptions, readCaptureOptions } from '../request/capture-options.ts';
import type { HttpRequest } from '../request/http-request.ts';
import { isRequestBlocked } from '../request/request-blocked-error.ts';
import { scopeOf } from '../request/request-capture.ts';
import { currentScope, type RequestScope, runInScope } from '../request/request-scope.ts';
import { type NodeResponse, sendBlocked, statusOf } from './blocked-response.ts';
import { passBlocksToNext } from './express-4.ts';

export type { NodeResponse } from './blocked-response.ts';

type Next = (error?: unknown) => void;

type ErrorMiddleware = (
  ...given: [error: unknown, request: HttpRequest, response: NodeResponse, next: Next]
) => void;

/**
 * Returns middleware to use before all others. Everything after it finds the request's context, also in
 * asynchronous work. Parameters of the body are captured once a parser has set `request.body`.
 *
 * Some parsers, of multipart forms for example, continue outside the request's async context. Use the
 * same middleware again after them: it restores the scope of the request.
 *
 * From the first request on, a block in an async handler or `app.param` callback of Express 4 reaches the
 * error handlers, as in Express 5. All other rejections stay unhandled, as usual in Express 4.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests(
  options?: CaptureOptions,
): (request: HttpRequest, response: NodeResponse, next: Next) => void {
  const settings = readCaptureOptions(options);
  const scopes = new WeakMap<HttpRequest, RequestScope>();
  return (request, response, next) => {
    const scope = scopes.get(request) ?? scopeOf(request, settings, { status: statusOf(response) });
    scopes.set(request, scope);
    passBlocksToNext(readProperty(request, 'app'));
    runInScope(scope, () => next());
  };
}

/**
 * Returns error-handling middleware to use after all routes and before your own error handlers. It
 * responds to blocked requests, and passes all other errors on.
 */
export function answerBlocked(): ErrorMiddleware {
  // oxlint-disable-next-line eslint/max-params -- Express recognises error handlers by their four parameters
  return (error, _request, response, next) => {
    if (isRequestBlocked(error)) sendBlocked(error, response, currentScope());
    else next(error);
  };
}
