/** `security-event-delivery/hono`: requests of Hono, on whichever runtime. */
import { A_FUNCTION, check, integer } from '../../option-rules.ts';
import { CAPTURE_RULES, type CaptureOptions } from '../request/capture-options.ts';
import { isRequestBlocked, RequestBlockedError } from '../request/request-blocked-error.ts';
import { createScopes } from '../request/request-capture.ts';
import { type RequestScope, runInScope } from '../request/request-scope.ts';
import type { Block } from '../request/request-story.ts';
import { recordOnSpan } from '../request/span-exception.ts';
import { OF_THE_BODY } from './blocked-answer.ts';
import {
  CapturedHonoRequest,
  type HonoConnection,
  type HonoRequestContext,
} from './hono-request.ts';

/** What is used of Hono's `Context`. */
export interface HonoContext extends HonoRequestContext {
  readonly error: Error | undefined;
  readonly finalized: boolean;
  get res(): Response;
  set res(response: Response | undefined);
}

export interface HonoCaptureOptions<C extends HonoContext = HonoContext> extends CaptureOptions {
  /**
   * Tells the direct peer where the runtime does, as `getConnInfo(c).remote` of Hono's helpers does.
   * Asked once for a request, and only when something happens. Default: that of `@hono/node-server`;
   * on other runtimes nobody knows the peer.
   */
  readonly connection?: ((c: C) => HonoConnection | undefined) | undefined;
  /**
   * A Fetch body can be read by waiting alone, so forms and JSON of a known length up to this are
   * read before what follows, as `c.req` reads them: what follows reads them from there again, but
   * not from `c.req.raw`. 0 to 1,048,576; default 0: only what Hono's validators have let through.
   */
  readonly maxBodyBytes?: number | undefined;
}

const RULES = {
  ...CAPTURE_RULES,
  connection: A_FUNCTION,
  maxBodyBytes: integer(0, 1024 * 1024),
};

/**
 * Middleware to be used before all other: what follows it finds the request's context, however deep
 * and late.
 *
 * A blocked request is answered by it whatever was answered instead: by `app.onError`, which hears
 * of the `RequestBlockedError` as of every other, or by a handler that caught it.
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
    if (block !== undefined) answerBlock(block, c, scope);
  };
}

/** Of an answer that a block takes the place of, nothing was sent. */
function statusOf(c: HonoContext, scope: RequestScope): number | undefined {
  return c.finalized && scope.blockedBy === undefined ? c.res.status : undefined;
}

/** Hono gives an error to `app.onError` at once; what gets here is none, or of another realm. */
async function blockIn(c: HonoContext, next: () => Promise<void>): Promise<Block | undefined> {
  try {
    await next();
    return isRequestBlocked(c.error) ? c.error : undefined;
  } catch (error) {
    if (isRequestBlocked(error)) return error;
    throw error;
  }
}

function answerBlock(block: Block, c: HonoContext, scope: RequestScope): void {
  scope.block(block);
  recordOnSpan(block);
  // One of another copy of this package may not know how to answer.
  const answer = new RequestBlockedError(block.status).getResponse();
  for (const [name, value] of c.res.headers) {
    const isKept = !OF_THE_BODY.includes(name) && name !== 'content-type';
    if (isKept) answer.headers.append(name, value);
  }
  // A stream that nobody will read holds what it reads from.
  c.res.body?.cancel().catch(() => {});
  // Hono adds the headers of the answer before, unless there is none.
  c.res = undefined;
  c.res = answer;
}
