/** Adapts a Fetch `Request`. */
import { lazyValue } from '../../lazy-value.ts';
import { ownProperties } from '../../own-properties.ts';
import type { HttpRequest } from '../request/http-request.ts';
import type { HeadersLike } from '../request/request-like.ts';

/** The used part of a Fetch `Request`. */
export interface FetchRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: { forEach(callback: (value: string, name: string) => void): void };
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

const ORIGIN = /^([a-z]+):\/\/(?:[^/?#]*@)?([^/?#]*)/i;

/**
 * Adapts a Fetch `Request` for `createRequestCapture`, without changing it. Headers are read when an
 * event is reported. The path is that of the URL, in which `..` is resolved.
 */
export function fetchRequest(request: FetchRequest, details: FetchDetails = {}): HttpRequest {
  const { method, url } = request;
  const { remoteAddress, remotePort, body, params } = ownProperties(details);
  const [, scheme, host] = ORIGIN.exec(url) ?? [];
  const encrypted = scheme?.toLowerCase() === 'https';
  const headers = lazyValue((): HeadersLike => {
    /** A `Request` may have no `host` header; its URL always has a host. */
    const values = new Map([['host', host ?? '']]);
    request.headers.forEach((value, name) => {
      values.set(name, value);
    });
    return Object.fromEntries(values);
  });
  return {
    method,
    url,
    socket: { remoteAddress, remotePort, encrypted },
    body,
    params,
    get headers() {
      return headers();
    },
  };
}
