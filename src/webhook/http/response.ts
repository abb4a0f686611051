/** Receives the response of one request. A failure of the body does not change the status. */
import type { Dispatcher } from 'undici';
import { nextTurn } from '../../runtime/yield-to-event-loop.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { failure } from './errors.ts';

export interface Response {
  readonly status: number;
  /** The header Retry-After. */
  readonly retryAfter: string | undefined;
  /** `clean`: the whole body was read, within the limit. Never rejects. */
  readonly bodyEnd: Promise<'clean' | 'broken'>;
}

export interface ResponseBounds {
  readonly limits: AttemptLimits;
  /** Bytes of response body that are read to keep the connection. */
  readonly maxBytes: number;
}

/** A few are legal (103 Early Hints); a flood would burn CPU until the deadline. */
const MAX_INTERIM_RESPONSES = 32;

/** Returns a function that must be called for each interim response. */
export function interimCounter(limits: AttemptLimits): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count <= MAX_INTERIM_RESPONSES) return;
    limits.reach(failure('protocol', `more than ${MAX_INTERIM_RESPONSES} 1xx responses`));
  };
}

/**
 * Sends a request over one of our connections, with a handler rather than undici's `request`, whose
 * response stream took an eighth of an attempt's CPU. Rejects if there are no response headers.
 */
export function dispatch(
  client: Dispatcher,
  options: Dispatcher.DispatchOptions,
  bounds: ResponseBounds,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    client.dispatch(options, new ResponseHandler({ resolve, reject, bounds }));
  });
}

interface Receiving {
  readonly resolve: (response: Response) => void;
  readonly reject: (error: Error) => void;
  readonly bounds: ResponseBounds;
}

class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #receiving: Receiving;
  readonly #onInterim: () => void;
  #bytes = 0;
  #endBody: ((how: 'clean' | 'broken') => void) | undefined;

  constructor(receiving: Receiving) {
    this.#receiving = receiving;
    this.#onInterim = interimCounter(receiving.bounds.limits);
  }

  /** undici recognises its current kind of handler by this method. */
  onRequestStart(): void {}

  onResponseStart(
    _controller: unknown,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) {
      this.#onInterim();
      return;
    }
    const bodyEnd = new Promise<'clean' | 'broken'>((resolve) => {
      this.#endBody = resolve;
    });
    this.#receiving.resolve({ status, retryAfter: firstRetryAfter(headers), bodyEnd });
  }

  onResponseData(_controller: unknown, { length }: Buffer): void {
    this.#bytes += length;
    if (this.#bytes > this.#receiving.bounds.maxBytes) this.#endBody?.('broken');
  }

  onResponseEnd(): void {
    // undici frees or ends the connection in an immediate that it schedules right after this call.
    queueMicrotask(() => void nextTurn().then(() => this.#endBody?.('clean')));
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#receiving.reject(error);
    this.#endBody?.('broken');
  }
}

/** Counts compressed bytes. Leaving the loop destroys the socket. */
export async function drain(
  body: Dispatcher.ResponseData['body'],
  maxBytes: number,
): Promise<'clean' | 'broken'> {
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return 'broken';
    }
  } catch {
    return 'broken';
  }
  await nextTurn();
  return 'clean';
}

/** Destroys the socket of a body that was not read to its end. */
export function discard(body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => {}).destroy();
}

export function firstRetryAfter(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): string | undefined {
  const header = Object.hasOwn(headers, 'retry-after') ? headers['retry-after'] : undefined;
  return Array.isArray(header) ? header[0] : header;
}
