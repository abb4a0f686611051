/** The steps of a receiver, as plain data: how it treats a request. */
import { types } from 'node:util';

/** A regular response. */
export interface Reply {
  /** 200 to 599. */
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** `Retry-After`: seconds, a time, or the text of the header. */
  readonly retryAfter?: number | Date | string;
  readonly body?: string | Uint8Array;
  /** Wait before the response, in ms, up to 2147483647. Default 0. */
  readonly delayMs?: number;
}

/** A fault before a request is read. */
export type ConnectionFault =
  /** The next connection is reset when it is accepted. */
  | { readonly fault: 'reset-on-connect' }
  /** The TLS handshake of the next connection begins late. */
  | { readonly fault: 'slow-tls'; readonly delayMs: number };

/** A fault while a request is read. */
export type ReadingFault =
  /** A reset after `afterBytes` of the body. Default 1. */
  | { readonly fault: 'reset-during-body'; readonly afterBytes?: number }
  /**
   * Bodies up to `maxBytes` get 200. Larger ones get `status` (default 413; real receivers send 400, 401, 403 or
   * 500) as soon as Content-Length or the bytes read exceed it; the rest is ignored.
   */
  | { readonly fault: 'body-limit'; readonly maxBytes: number; readonly status?: number };

/** A fault instead of a regular response, after a request was read. `status` is 200 by default. */
export type AnswerFault =
  | { readonly fault: 'hang' }
  /** Response headers that announce a body, and then nothing. */
  | { readonly fault: 'hang-after-headers'; readonly status?: number }
  | { readonly fault: 'reset-before-response' }
  /** Response headers and a part of the body, then a reset. */
  | { readonly fault: 'reset-after-headers'; readonly status?: number }
  /** Response headers, then a byte of the body every `everyMs`. Default 100. */
  | { readonly fault: 'drip'; readonly everyMs?: number; readonly status?: number }
  /** An endless body, as fast as it is read. */
  | { readonly fault: 'endless-body'; readonly status?: number }
  /** Endless header fields, as fast as they are read. */
  | { readonly fault: 'endless-headers'; readonly status?: number }
  /** 103 (Early Hints) every `everyMs` (default 10), and never a final response. */
  | { readonly fault: 'interim-flood'; readonly everyMs?: number }
  /** A small gzip body that inflates to `inflatedBytes`, rounded up to whole MiB. Up to 64 GiB; default 1 GiB. */
  | { readonly fault: 'gzip-bomb'; readonly inflatedBytes?: number; readonly status?: number }
  /** A redirect (default 307) to the receiver's own URL. */
  | { readonly fault: 'redirect-loop'; readonly status?: number }
  /** The greeting of another protocol, then the end of the connection. */
  | { readonly fault: 'not-http' }
  /** A regular 200; `afterMs` (default 0) later the idle connection is closed. */
  | { readonly fault: 'close-idle'; readonly afterMs?: number };

export type Fault = ConnectionFault | ReadingFault | AnswerFault;

/** What the receiver does with one request. */
export type Step = Reply | Fault;

export const OK: Reply = { status: 200 };

/** Returns the headers of a reply, including `Retry-After`. */
export function headersOf({ headers = {}, retryAfter }: Reply): Record<string, string> {
  if (retryAfter === undefined) return { ...headers };
  const text = types.isDate(retryAfter) ? retryAfter.toUTCString() : String(retryAfter);
  return { ...headers, 'retry-after': text };
}
