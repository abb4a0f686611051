/** `security-event-delivery/koa`: requests of Koa 2 and 3. */
import { readProperty } from '../../own-properties.ts';
import type { CaptureOptions } from '../request/capture-options.ts';
import type { HttpRequest } from '../request/http-request.ts';
import { isRequestBlocked } from '../request/request-blocked-error.ts';
import { createScopes } from '../request/request-capture.ts';
import { runInScope } from '../request/request-scope.ts';
import type { Block } from '../request/request-state.ts';
import { type NodeResponse, sendBlocked, statusOf } from './blocked-response.ts';
import { ParsedRequest } from './parsed-request.ts';

/** The part of Koa's `Context` that is used. */
export interface KoaContext {
  readonly req: HttpRequest;
  readonly res: NodeResponse;
  /** Body parsers set its `body`. */
  readonly request: object;
}

/**
 * Returns middleware that captures requests. Use it before all other middleware. Parameters of a body
 * are those of `ctx.request.body`, those of the path `ctx.params`.
 *
 * Answers a blocked request itself, also where other middleware has caught the error.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests(
  options?: CaptureOptions,
): (ctx: KoaContext, next: () => Promise<unknown>) => Promise<void> {
  const scopeOf = createScopes(options);
  return async (ctx, next) => {
    const request = new ParsedRequest(ctx.req, {
      body: () => readProperty(ctx.request, 'body'),
      params: () => readProperty(ctx, 'params'),
    });
    const scope = scopeOf(request, statusOf(ctx.res), ctx.req);
    const block = (await runInScope(scope, () => blockIn(next))) ?? scope.blockedBy;
    // Koa leaves a response alone that has ended.
    if (block !== undefined) sendBlocked(block, ctx.res, scope);
  };
}

async function blockIn(next: () => Promise<unknown>): Promise<Block | undefined> {
  try {
    await next();
    return undefined;
  } catch (error) {
    if (isRequestBlocked(error)) return error;
    throw error;
  }
}
