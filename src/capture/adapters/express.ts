/** `security-event-delivery/express`: requests of Express 5 and 4, and of what speaks their middleware. */
import { readProperty } from '../../own-properties.ts';
import type { CaptureOptions } from '../request/capture-options.ts';
import type { HttpRequest } from '../request/http-request.ts';
import { isRequestBlocked } from '../request/request-blocked-error.ts';
import { createScopes } from '../request/request-capture.ts';
import { currentScope, type RequestScope, runInScope } from '../request/request-scope.ts';
import { answerBlock, type NodeResponse, statusOf } from './blocked-answer.ts';
import { passBlocksToNext } from './express-4.ts';

export type { NodeResponse } from './blocked-answer.ts';

type Next = (error?: unknown) => void;

type ErrorMiddleware = (
  ...given: [error: unknown, request: HttpRequest, response: NodeResponse, next: Next]
) => void;

/**
 * Middleware to be used before all other: what follows it finds the request's context, however deep
 * and late. Parameters of a body are those that a parser leaves in `request.body`, once it has.
 *
 * Where a parser goes on outside of the request, as some of multipart forms do, use the same
 * middleware once more behind it: it takes up the scope of a request that it has seen.
 *
 * From its first request on, Express 4 passes blocks in async handlers and `app.param` callbacks to
 * error handlers, as Express 5 does. All other rejections stay unhandled, as Express 4 leaves them.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests(
  options?: CaptureOptions,
): (request: HttpRequest, response: NodeResponse, next: Next) => void {
  const scopeOf = createScopes(options);
  const scopes = new WeakMap<HttpRequest, RequestScope>();
  return (request, response, next) => {
    const scope = scopes.get(request) ?? scopeOf(request, statusOf(response));
    scopes.set(request, scope);
    passBlocksToNext(readProperty(request, 'app'));
    runInScope(scope, () => next());
  };
}

/**
 * Error-handling middleware to be used after all routes, and before error handlers of your own: it
 * answers requests that were blocked. Every other error goes on.
 */
export function answerBlocked(): ErrorMiddleware {
  // oxlint-disable-next-line eslint/max-params -- Express knows error handlers by their four parameters
  return (error, _request, response, next) => {
    if (isRequestBlocked(error)) answerBlock(error, response, currentScope());
    else next(error);
  };
}
