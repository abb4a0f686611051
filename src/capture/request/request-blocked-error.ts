/** Lets an agent block the current request. */
import { STATUS_CODES } from 'node:http';
import { isInteger } from '../../option-rules.ts';
import { type Block, currentScope, type RequestScope, runInScope } from './request-scope.ts';
import { recordOnSpan } from './span-exception.ts';

/** Every copy of the package recognises it; `instanceof` recognises only the class of its own copy. */
const BRAND = Symbol.for('security-event-delivery.request-blocked');

/** The response to a blocked request. */
export interface BlockedResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The body is the reason phrase of the status (RFC 9110 section 15), which does not reveal why. */
const blockedResponse = (statusCode: number): BlockedResponse => ({
  statusCode,
  headers: { 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' },
  body: STATUS_CODES[statusCode] ?? 'Blocked',
});

/**
 * Ends the request during which it is thrown: the host adapter responds with `status`, and reveals nothing
 * else of this error. Has `status` and `statusCode` for the error handlers of frameworks.
 */
export class RequestBlockedError extends Error {
  override readonly name = 'RequestBlockedError';
  readonly status: number;
  readonly statusCode: number;
  /** Frameworks that use the `http-errors` convention do not show the message. */
  readonly expose = false;
  readonly [BRAND] = true;

  /**
   * @param status 400 to 599. Default, also for any other value: the `blockedStatus` of the current request's
   * adapter, or 403. An invalid status does not throw: the request must be blocked in any case.
   */
  constructor(status?: number) {
    super('The request was blocked.');
    const isUsable = isInteger(status, 400, 599);
    this.status = isUsable ? (status as number) : (currentScope()?.blockedStatus ?? 403);
    this.statusCode = this.status;
    currentScope()?.expectBlock();
  }

  /** Hono calls this for its default response to an error. */
  getResponse(): Response {
    const { statusCode, headers, body } = blockedResponse(this.status);
    return new Response(body, { status: statusCode, headers });
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
  currentScope()?.markBlocked(error);
  report?.();
  throw error;
}

/**
 * Runs `work` in the scope. Resolves to the error that blocked the request: one that `work` throws, or that of
 * `blockRequest`, even if the application caught it, and answered or threw another one.
 */
export async function runUntilBlocked(
  scope: RequestScope,
  work: () => unknown,
): Promise<Block | undefined> {
  try {
    await runInScope(scope, work);
    return scope.blockedBy;
  } catch (error) {
    const block = isRequestBlocked(error) ? error : scope.blockedBy;
    if (block !== undefined) return block;
    throw error;
  }
}

/** Marks the request as blocked, records the error on its span, and returns the response. */
export function respondToBlock(block: Block, scope: RequestScope | undefined): BlockedResponse {
  scope?.markBlocked(block);
  recordOnSpan(block);
  return blockedResponse(block.status);
}
