/** Adapts Hono's request. */
import { readProperty } from '../../own-properties.ts';
import { bodyKindOf } from '../request/body-source.ts';
import type { HttpRequest } from '../request/http-request.ts';
import { headerOf, type SocketLike } from '../request/request-like.ts';
import { type FetchRequest, fetchRequest } from './fetch-request.ts';

export type HonoConnection = Pick<SocketLike, 'remoteAddress' | 'remotePort'>;

/** The part of Hono's `Context` that is used to read the request. */
export interface HonoRequestContext {
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
}

export class CapturedHonoRequest implements HttpRequest {
  readonly #c: HonoRequestContext;
  readonly #connection: (() => HonoConnection | undefined) | undefined;
  #source: HttpRequest | undefined;
  #socket: SocketLike | undefined;
  #params: { readonly routeIndex: number; readonly params: unknown } | undefined;
  #body: unknown;

  constructor(c: HonoRequestContext, connection: (() => HonoConnection | undefined) | undefined) {
    this.#c = c;
    this.#connection = connection;
  }

  get headers(): HttpRequest['headers'] {
    return this.#readable.headers;
  }

  get method(): string | undefined {
    return this.#readable.method;
  }

  get url(): string | undefined {
    return this.#readable.url;
  }

  get socket(): HttpRequest['socket'] {
    if (this.#connection === undefined) return this.#readable.socket;
    this.#socket ??= {
      encrypted: this.#readable.socket?.encrypted,
      ...this.#connection(),
    };
    return this.#socket;
  }

  get body(): unknown {
    const { req } = this.#c;
    return this.#body ?? req.valid('json' as never) ?? req.valid('form' as never);
  }

  /** Cached, since Hono's `param` returns a new object each time. */
  get params(): unknown {
    const { req } = this.#c;
    const { routeIndex } = req;
    if (this.#params?.routeIndex !== routeIndex) {
      this.#params = { routeIndex, params: req.param() };
    }
    return this.#params.params;
  }

  /** Returns `undefined` if there is nothing to read. */
  readBody(maxBytes: number): Promise<void> | undefined {
    if (maxBytes === 0) return undefined;
    const kind = bodyKindOf(headerOf(this, 'content-type'));
    const bytes = Number(headerOf(this, 'content-length') ?? 0);
    if (kind === undefined || !(bytes > 0 && bytes <= maxBytes)) return undefined;
    return this.#read(kind);
  }

  /** Never rejects: the next reader of the body gets the same error. */
  async #read(kind: 'form' | 'json'): Promise<void> {
    const { req } = this.#c;
    try {
      this.#body = await (kind === 'json' ? req.json() : req.parseBody({ all: true }));
    } catch {
      this.#body = undefined;
    }
  }

  get original(): object {
    return incomingOf(this.#c.env) ?? this.#c.req.raw;
  }

  /** Prefers the original request of `@hono/node-server` to the Fetch request made from it. */
  get #readable(): HttpRequest {
    this.#source ??= incomingOf(this.#c.env) ?? fetchRequest(this.#c.req.raw);
    return this.#source;
  }
}

/** The same look-up as in the helper `getConnInfo` of `@hono/node-server`. */
function incomingOf(env: unknown): HttpRequest | undefined {
  const incoming = propertyOf(propertyOf(env, 'server') ?? env, 'incoming');
  return isObject(propertyOf(incoming, 'headers')) && isObject(propertyOf(incoming, 'socket'))
    ? (incoming as HttpRequest)
    : undefined;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const propertyOf = (value: unknown, name: string): unknown =>
  isObject(value) ? readProperty(value, name) : undefined;
