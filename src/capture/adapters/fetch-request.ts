/** Adapts a Fetch `Request`. */
import { ownProperties } from '../../own-properties.ts';
import type { HttpRequest } from '../request/http-request.ts';
import type { HeadersLike, SocketLike } from '../request/request-like.ts';

/** The used part of a Fetch `Request`. */
export interface FetchRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Iterable<readonly [string, string]>;
}

/** Facts that a Fetch `Request` does not have. */
export interface FetchDetails {
  /** The address of the direct peer, from the runtime. */
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  /** The body as your code has parsed it: a Fetch body can only be read asynchronously, and once. */
  readonly body?: unknown;
  /** The route's parameters. */
  readonly params?: unknown;
}

/**
 * Adapts a Fetch `Request` for `createRequestCapture`, without changing it. Headers are read when an
 * event is reported. The path is that of the URL, in which `..` is resolved.
 */
export function fetchRequest(request: FetchRequest, details: FetchDetails = {}): HttpRequest {
  return new CapturedFetchRequest(request, details);
}

const ORIGIN = /^([a-z]+):\/\/(?:[^/?#]*@)?([^/?#]*)/i;

class CapturedFetchRequest implements HttpRequest {
  readonly #request: FetchRequest;
  readonly #details: FetchDetails;
  #headers: HeadersLike | undefined;

  constructor(request: FetchRequest, details: FetchDetails) {
    this.#request = request;
    this.#details = ownProperties(details);
  }

  /** A `Request` may have no `host` header; its URL always has a host. */
  get headers(): HeadersLike {
    this.#headers ??= { host: this.#origin()[2], ...Object.fromEntries(this.#request.headers) };
    return this.#headers;
  }

  get method(): string {
    return this.#request.method;
  }

  get url(): string {
    return this.#request.url;
  }

  get socket(): SocketLike {
    const { remoteAddress, remotePort } = this.#details;
    const encrypted = this.#origin()[1]?.toLowerCase() === 'https';
    return { remoteAddress, remotePort, encrypted };
  }

  get body(): unknown {
    return this.#details.body;
  }

  get params(): unknown {
    return this.#details.params;
  }

  #origin(): readonly (string | undefined)[] {
    return ORIGIN.exec(this.#request.url) ?? [];
  }
}
