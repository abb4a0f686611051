/** `security-event-delivery/hono`: captures requests of Hono, on any runtime. */
import {
  A_FUNCTION,
  integer,
  type OptionsOf,
  option,
  optional,
  readOptions,
} from '../../option-rules.ts';
import { isObjectLike, readProperty } from '../../own-properties.ts';
import { CAPTURE_OPTIONS, readCaptureOptions, refuseRequest } from '../request/capture-options.ts';
import { bodyKindOf, type HttpRequest, type ParsedParameters } from '../request/http-request.ts';
import {
  isRequestBlocked,
  respondToBlock,
  runUntilBlocked,
} from '../request/request-blocked-error.ts';
import { scopeOf } from '../request/request-capture.ts';
import { headerOf, type SocketLike } from '../request/request-like.ts';
import type { Block, RequestScope } from '../request/request-scope.ts';
import { BODY_HEADERS } from './blocked-response.ts';
import { type FetchRequest, fetchRequest } from './fetch-request.ts';

export type HonoConnection = Pick<SocketLike, 'remoteAddress' | 'remotePort'>;

/** The used part of Hono's `Context`. */
export interface HonoContext {
  readonly env: unknown;
  readonly req: {
    readonly raw: FetchRequest;
    /** The route of the current handler, whose path parameters `param` returns. */
    readonly routeIndex: number;
    param(): unknown;
    valid(target: never): unknown;
    json(): Promise<unknown>;
    parseBody(options: { all: true }): Promise<unknown>;
  };
  readonly error: Error | undefined;
  readonly finalized: boolean;
  get res(): Response;
  set res(response: Response | undefined);
}

type Connection<C> = (c: C) => HonoConnection | undefined;

const OPTIONS = {
  ...CAPTURE_OPTIONS,
  /**
   * Returns the direct peer, such as `getConnInfo(c).remote` of Hono's helpers. Called at most once for
   * a request, and only when an event is reported. Default: the peer of `@hono/node-server`; on other
   * runtimes the peer is unknown.
   */
  connection: optional<Connection<HonoContext>>(A_FUNCTION),
  /**
   * Maximum size of forms and JSON that are read before the handlers run, since a Fetch body can only be
   * read asynchronously. They are read through `c.req`, which caches them for handlers; `c.req.raw` is
   * consumed. Bodies without `Content-Length` are not read. 0 to 1,048,576 bytes; default 0: only values
   * that Hono's validators have accepted.
   */
  maxBodyBytes: option<number>(integer(0, 1024 * 1024), 0),
} as const;

export interface HonoCaptureOptions<C extends HonoContext = HonoContext>
  extends OptionsOf<typeof OPTIONS, { connection: Connection<C> }> {}

/**
 * Returns middleware to use before all others. Everything after it finds the request's context, also in
 * asynchronous work.
 *
 * A blocked request gets the blocked response, which replaces the response of `app.onError`. After
 * `blockRequest` it also replaces the response of a handler that caught the error.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function captureRequests<C extends HonoContext = HonoContext>(
  options: HonoCaptureOptions<C> = {},
): (c: C, next: () => Promise<void>) => Promise<void> {
  refuseRequest(options);
  const { connection, maxBodyBytes, ...capture } = readOptions(options, OPTIONS);
  const settings = readCaptureOptions(capture);
  return async (c, next) => {
    // The original request of `@hono/node-server`, not the Fetch request that it creates from it.
    const incoming = incomingOf(c.env);
    const source = incoming ?? fetchRequest(c.req.raw);
    const request = connection === undefined ? source : withPeer(source, () => connection(c));
    let body: unknown;
    const scope: RequestScope = scopeOf(request, settings, {
      status: () => statusOf(c, scope),
      parsed: parsedOf(c, () => body),
      original: incoming ?? c.req.raw,
    });
    if (hasBodyToRead(request, maxBodyBytes)) body = await readBody(c, request);
    const block = await runUntilBlocked(scope, next);
    // Hono catches each `Error` of this realm and sets `c.error`; it lets other thrown values pass.
    const thrown = isRequestBlocked(c.error) ? c.error : block;
    if (thrown !== undefined) sendBlocked(thrown, c, scope);
  };
}

/** The same look-up as in the helper `getConnInfo` of `@hono/node-server`. */
function incomingOf(env: unknown): HttpRequest | undefined {
  const incoming = propertyOf(propertyOf(env, 'server') ?? env, 'incoming');
  return isObjectLike(propertyOf(incoming, 'headers')) &&
    isObjectLike(propertyOf(incoming, 'socket'))
    ? (incoming as HttpRequest)
    : undefined;
}

const propertyOf = (value: unknown, name: string): unknown =>
  isObjectLike(value) ? readProperty(value, name) : undefined;

function withPeer(source: HttpRequest, connection: () => HonoConnection | undefined): HttpRequest {
  let socket: SocketLike | undefined;
  return {
    method: source.method,
    url: source.url,
    get headers() {
      return source.headers;
    },
    get socket() {
      socket ??= { encrypted: source.socket?.encrypted, ...connection() };
      return socket;
    },
  };
}

function hasBodyToRead(request: HttpRequest, maxBytes: number): boolean {
  if (maxBytes === 0 || bodyKindOf(request) === undefined) return false;
  const bytes = Number(headerOf(request, 'content-length') ?? 0);
  return bytes > 0 && bytes <= maxBytes;
}

/** Never rejects: the next reader of the body gets the same error. */
async function readBody({ req }: HonoContext, request: HttpRequest): Promise<unknown> {
  try {
    return await (bodyKindOf(request) === 'json' ? req.json() : req.parseBody({ all: true }));
  } catch {
    return undefined;
  }
}

function parsedOf({ req }: HonoContext, bodyRead: () => unknown): ParsedParameters {
  let known: { readonly routeIndex: number; readonly params: unknown } | undefined;
  return {
    get body() {
      return bodyRead() ?? req.valid('json' as never) ?? req.valid('form' as never);
    },
    /** Cached, since Hono's `param` returns a new object each time. */
    get params() {
      const { routeIndex } = req;
      if (known?.routeIndex !== routeIndex) known = { routeIndex, params: req.param() };
      return known.params;
    },
  };
}

/** Undefined for a response that a block will replace: it is never sent. */
function statusOf(c: HonoContext, scope: RequestScope): number | undefined {
  return c.finalized && scope.blockedBy === undefined ? c.res.status : undefined;
}

function sendBlocked(block: Block, c: HonoContext, scope: RequestScope): void {
  const { statusCode, headers, body } = respondToBlock(block, scope);
  const response = new Response(body, { status: statusCode, headers });
  for (const [name, value] of c.res.headers) {
    const isKept = !BODY_HEADERS.includes(name) && name !== 'content-type';
    if (isKept) response.headers.append(name, value);
  }
  // Frees the source of a stream that will not be read.
  c.res.body?.cancel().catch(() => {});
  // Hono would merge the headers of the previous response.
  c.res = undefined;
  c.res = response;
}
