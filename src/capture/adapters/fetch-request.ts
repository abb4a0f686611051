/** A Fetch `Request` as capture reads requests. */
import { ownProperties } from '../../own-properties.ts';
import type { HttpRequest } from '../request/http-request.ts';
import type { HeadersLike, SocketLike } from '../request/request-like.ts';

/** What is used of a Fetch `Request`; a global one of any runtime fits. */
export interface FetchRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Iterable<readonly [string, string]>;
}

/** What a Fetch `Request` does not tell. */
export interface FetchDetails {
  /** Of the direct peer, as the runtime tells it. */
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  /** As your code has parsed it: a Fetch body can be read by waiting alone, and once. */
  readonly body?: unknown;
  /** What a router found in the path. */
  readonly params?: unknown;
}

/**
 * Makes what `createRequestCapture` reads of a Fetch `Request`, which is not changed, and whose
 * headers are read when something happens.
 *
 * A Fetch URL is what is left after `..` was resolved and the fragment cut: the path is that.
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

  /** A `Request` that was not made by a server need not have a `host`; its URL always has one. */
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
