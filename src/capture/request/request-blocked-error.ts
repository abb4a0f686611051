/** Lets an agent block the current request. */
import { STATUS_CODES } from 'node:http';
import { currentScope } from './request-scope.ts';

/** Recognised by every copy of the package; `instanceof` is not. */
const BRAND = Symbol.for('security-event-delivery.request-blocked');

/** The reason phrase of the status (RFC 9110 section 15), which does not reveal why. */
export const blockedBody = (status: number): string => STATUS_CODES[status] ?? 'Blocked';

/**
 * Ends the request during which it is thrown: the host adapter responds with its `blockedStatus` (default
 * 403) and nothing of this error. Has `status` and `statusCode` for the error handlers of frameworks.
 */
export class RequestBlockedError extends Error {
  override readonly name = 'RequestBlockedError';
  readonly status: number;
  readonly statusCode: number;
  /** Frameworks that use the `http-errors` convention do not show the message. */
  readonly expose = false;
  readonly [BRAND] = true;

  /** @param status 400 to 599; default: the `blockedStatus` of the current request's adapter, or 403. */
  constructor(status = currentScope()?.blockedStatus ?? 403) {
    super('The request was blocked.');
    this.status = status;
    this.statusCode = status;
    currentScope()?.expectBlock();
  }

  /** Hono calls this for its default response to an error. */
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
 * Blocks the current request: marks it as blocked, runs `report`, whose events then have
 * `response.blocked` and the status, and throws.
 *
 * @throws RequestBlockedError always, unless `report` throws another error.
 */
export function blockRequest(report?: () => void): never {
  const error = new RequestBlockedError();
  currentScope()?.block(error);
  report?.();
  throw error;
}
