/** How an agent ends a request that it does not want to be served. */
import { STATUS_CODES } from 'node:http';
import { currentScope } from './request-scope.ts';

/** Known by this in every copy of the package, where `instanceof` is not. */
const BRAND = Symbol.for('security-event-delivery.request-blocked');

/** The status's own words (RFC 9110 15): nothing that tells why. */
export const blockedBody = (status: number): string => STATUS_CODES[status] ?? 'Blocked';

/**
 * Thrown while a request is served, it ends the request: the host adapter answers with its
 * `blockedStatus` (default 403) and nothing of this error. It is no fault of anybody's code, and has
 * `status` and `statusCode` as frameworks look for them, should it meet their own error handlers.
 */
export class RequestBlockedError extends Error {
  override readonly name = 'RequestBlockedError';
  readonly status: number;
  readonly statusCode: number;
  /** Frameworks that follow the `http-errors` package do not show the message then. */
  readonly expose = false;
  readonly [BRAND] = true;

  /** @param status 400 to 599; default: the `blockedStatus` of the current request's adapter, or 403. */
  constructor(status = currentScope()?.blockedStatus ?? 403) {
    super('The request was blocked.');
    this.status = status;
    this.statusCode = status;
    currentScope()?.expectBlock();
  }

  /** What Hono answers with, where nothing else has. */
  getResponse(): Response {
    return new Response(blockedBody(this.status), {
      status: this.status,
      headers: { 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' },
    });
  }
}

export function isRequestBlocked(error: unknown): error is RequestBlockedError {
  return typeof error === 'object' && error !== null && Reflect.get(error, BRAND) === true;
}

/**
 * Ends the current request: marks it as blocked, runs `report`, so that the events that it reports
 * say `response.blocked` and the status, and throws.
 *
 * @throws RequestBlockedError always; what `report` throws instead, should it throw.
 */
export function blockRequest(report?: () => void): never {
  const error = new RequestBlockedError();
  currentScope()?.block(error);
  report?.();
  throw error;
}
