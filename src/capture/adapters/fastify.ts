/** `security-event-delivery/fastify`: captures requests of Fastify 5, over HTTP/1.1 and HTTP/2. */
import { invalidOption } from '../../option-rules.ts';
import { readProperty } from '../../own-properties.ts';
import { type CaptureOptions, readCaptureOptions } from '../request/capture-options.ts';
import type { HttpRequest } from '../request/http-request.ts';
import { isRequestBlocked } from '../request/request-blocked-error.ts';
import { scopeOf } from '../request/request-capture.ts';
import { type Block, type RequestScope, runInScope } from '../request/request-scope.ts';
import { type NodeResponse, sendBlocked, statusOf } from './blocked-response.ts';

/** The used part of Fastify's request. */
export interface FastifyRequestLike {
  readonly raw: HttpRequest;
  readonly body?: unknown;
  readonly params?: unknown;
}

/** The used part of Fastify's reply. */
export interface FastifyReplyLike {
  readonly raw: NodeResponse;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  hijack(): unknown;
}

type Done = () => void;
type Hook = (request: FastifyRequestLike, reply: FastifyReplyLike, done: Done) => void;
/** `onError` and `onSend` also get an error or a payload. */
type HookOf<T> = (
  ...given: readonly [request: FastifyRequestLike, reply: FastifyReplyLike, T, done: Done]
) => void;

/** The used part of a Fastify instance. */
export interface FastifyLike {
  addHook(name: 'onRequest', hook: Hook): unknown;
  addHook(name: 'preValidation', hook: Hook): unknown;
  addHook(name: 'onError', hook: HookOf<Error>): unknown;
  addHook(name: 'onSend', hook: HookOf<unknown>): unknown;
}

/**
 * Captures requests. Register this plugin before all others: `app.register(captureRequests, { … })`. It
 * applies to the instance that registers it, as if wrapped by `fastify-plugin`, and to its children.
 * Hooks, handlers, error handlers, and parsers that read the whole body, such as Fastify's, find the
 * request's context.
 *
 * A blocked request is answered before any error handler runs; after `blockRequest` even if a handler caught
 * the error and replied itself. The plugin takes the reply over (`reply.hijack`), so `onSend` hooks of other plugins
 * do not run for it; `onResponse` hooks do.
 *
 * `ready` and `listen` reject with `ERR_INVALID_OPTION`; its `path` names the option.
 */
export const captureRequests: (app: FastifyLike, options?: CaptureOptions) => Promise<void> =
  Object.assign(addHooks, {
    // As set by `fastify-plugin`: the hooks apply to the instance that registers, not to a child.
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: 'security-event-delivery/fastify',
    [Symbol.for('plugin-meta')]: { name: 'security-event-delivery/fastify', fastify: '5.x' },
  });

const NOT_CALLED = 'pass `captureRequests` to `app.register` without calling it';

async function addHooks(app: FastifyLike, options?: CaptureOptions): Promise<void> {
  // Called with nothing, or with the options.
  const hook: unknown = Reflect.get(Object(app) as object, 'addHook');
  if (typeof hook !== 'function') throw invalidOption(NOT_CALLED, ['app']);
  const settings = readCaptureOptions(options);
  const scopes = new WeakMap<FastifyRequestLike, RequestScope>();
  const resume = (request: FastifyRequestLike, work: Done): void => {
    const scope = scopes.get(request);
    if (scope === undefined) work();
    else runInScope(scope, work);
  };

  app.addHook('onRequest', (request, reply, done) => {
    // Reads Node's request, since the getters of Fastify's own cache their first result.
    const host = { status: statusOf(reply.raw), parsed: request, original: request.raw };
    const scope = scopeOf(request.raw, settings, host);
    scopes.set(request, scope);
    runInScope(scope, done);
  });
  // Bodies are parsed in events of their stream, which Node runs outside the request's async context.
  app.addHook('preValidation', (request, _reply, done) => resume(request, done));
  app.addHook('onError', (...[request, reply, error, done]) => {
    if (isRequestBlocked(error)) takeOver(error, reply, scopes.get(request));
    else resume(request, done);
  });
  app.addHook('onSend', (...[request, reply, payload, done]) => {
    const scope = scopes.get(request);
    const block = scope?.blockedBy;
    if (block === undefined) done();
    else {
      discard(payload);
      takeOver(block, reply, scope);
    }
  });
}

/** The calling hook must not call `done`, so that no error handler runs. */
function takeOver(error: Block, reply: FastifyReplyLike, scope: RequestScope | undefined): void {
  const headers = reply.raw.headersSent ? {} : reply.getHeaders();
  reply.hijack();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  sendBlocked(error, reply.raw, scope);
}

interface Stream {
  readonly destroy?: () => unknown;
  readonly cancel?: () => Promise<unknown>;
}

/** Closes a stream that will not be read, so that it frees its source: Node's, a web stream, or a Response's. */
function discard(payload: unknown): void {
  if (typeof payload !== 'object' || payload === null) return;
  const stream = (readProperty(payload, 'body') ?? payload) as Stream;
  if (readProperty(stream, 'destroy') !== undefined) stream.destroy?.();
  else if (readProperty(stream, 'cancel') !== undefined) stream.cancel?.().catch(() => {});
}
