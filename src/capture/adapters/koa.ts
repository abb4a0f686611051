/** `security-event-delivery/koa`: captures requests of Koa 2 and 3. */
import { readProperty } from '../../own-properties.ts';
import { type CaptureOptions, readCaptureOptions } from '../request/capture-options.ts';
import type { HttpRequest } from '../request/http-request.ts';
import { runUntilBlocked } from '../request/request-blocked-error.ts';
import { scopeOf } from '../request/request-capture.ts';
import { type NodeResponse, sendBlocked, statusOf } from './blocked-response.ts';

/** The used part of Koa's `Context`. */
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
 * Answers a blocked request itself; after `blockRequest` even if other middleware has caught the error.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests(
  options?: CaptureOptions,
): (ctx: KoaContext, next: () => Promise<unknown>) => Promise<void> {
  const settings = readCaptureOptions(options);
  return async (ctx, next) => {
    const parsed = {
      get body() {
        return readProperty(ctx.request, 'body');
      },
      get params() {
        return readProperty(ctx, 'params');
      },
    };
    const scope = scopeOf(ctx.req, settings, { status: statusOf(ctx.res), parsed });
    const block = await runUntilBlocked(scope, next);
    // Koa leaves a response alone that has ended.
    if (block !== undefined) sendBlocked(block, ctx.res, scope);
  };
}
