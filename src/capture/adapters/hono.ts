/** `security-event-delivery/hono`: captures requests of Hono, on any runtime. */
import { A_FUNCTION, check, integer } from '../../option-rules.ts';
import { CAPTURE_RULES, type CaptureOptions } from '../request/capture-options.ts';
import { isRequestBlocked, RequestBlockedError } from '../request/request-blocked-error.ts';
import { createScopes } from '../request/request-capture.ts';
import { type RequestScope, runInScope } from '../request/request-scope.ts';
import type { Block } from '../request/request-state.ts';
import { recordOnSpan } from '../request/span-exception.ts';
import { BODY_HEADERS } from './blocked-response.ts';
import {
  CapturedHonoRequest,
  type HonoConnection,
  type HonoRequestContext,
} from './hono-request.ts';

/** The used part of Hono's `Context`. */
export interface HonoContext extends HonoRequestContext {
  readonly error: Error | undefined;
  readonly finalized: boolean;
  get res(): Response;
  set res(response: Response | undefined);
}

export interface HonoCaptureOptions<C extends HonoContext = HonoContext> extends CaptureOptions {
  /**
   * Returns the direct peer, such as `getConnInfo(c).remote` of Hono's helpers. Called at most once for
   * a request, and only when an event is reported. Default: the peer of `@hono/node-server`; on other
   * runtimes the peer is unknown.
   */
  readonly connection?: ((c: C) => HonoConnection | undefined) | undefined;
  /**
   * Maximum size of forms and JSON that are read before the handlers run, since a Fetch body can only be
   * read asynchronously. They are read through `c.req`, which caches them for handlers; `c.req.raw` is
   * consumed. 0 to 1,048,576 bytes; default 0: only values that Hono's validators have accepted.
   */
  readonly maxBodyBytes?: number | undefined;
}

const RULES = {
  ...CAPTURE_RULES,
  connection: A_FUNCTION,
  maxBodyBytes: integer(0, 1024 * 1024),
};

/**
 * Returns middleware to use before all other. Everything after it finds the request's context, also in
 * asynchronous work.
 *
 * A blocked request gets the blocked response, even if `app.onError`, which also gets the
 * `RequestBlockedError`, or a handler that caught it has set another.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests<C extends HonoContext = HonoContext>(
  options: HonoCaptureOptions<C> = {},
): (c: C, next: () => Promise<void>) => Promise<void> {
  const given = check<HonoCaptureOptions<C>>(options, RULES);
  const { connection, maxBodyBytes = 0, ...capture } = given;
  const scopeOf = createScopes(capture);
  return async (c, next) => {
    const request = new CapturedHonoRequest(c, connection && (() => connection(c)));
    const scope: RequestScope = scopeOf(request, () => statusOf(c, scope), request.original);
    const reading = request.readBody(maxBodyBytes);
    if (reading !== undefined) await reading;
    const block = (await runInScope(scope, () => blockIn(c, next))) ?? scope.blockedBy;
    if (block !== undefined) sendBlocked(block, c, scope);
  };
}

/** A response that a block will replace was not sent. */
function statusOf(c: HonoContext, scope: RequestScope): number | undefined {
  return c.finalized && scope.blockedBy === undefined ? c.res.status : undefined;
}

/** Hono passes errors to `app.onError`; only values that are no `Error` of this realm are thrown here. */
async function blockIn(c: HonoContext, next: () => Promise<void>): Promise<Block | undefined> {
  try {
    await next();
    return isRequestBlocked(c.error) ? c.error : undefined;
  } catch (error) {
    if (isRequestBlocked(error)) return error;
    throw error;
  }
}

function sendBlocked(block: Block, c: HonoContext, scope: RequestScope): void {
  scope.block(block);
  recordOnSpan(block);
  // A block of another copy of this package may have no `getResponse`.
  const answer = new RequestBlockedError(block.status).getResponse();
  for (const [name, value] of c.res.headers) {
    const isKept = !BODY_HEADERS.includes(name) && name !== 'content-type';
    if (isKept) answer.headers.append(name, value);
  }
  // Frees the source of a stream that will not be read.
  c.res.body?.cancel().catch(() => {});
  // Hono would merge the headers of the previous response.
  c.res = undefined;
  c.res = answer;
}
