/** The response of one request, as it comes in. What becomes of its body changes nothing about its status (D34). */
import type { Dispatcher } from 'undici';
import { nextTurn } from '../../runtime/yield-to-event-loop.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { failure } from './errors.ts';

export interface Response {
  readonly status: number;
  /** The header Retry-After. */
  readonly retryAfter: string | undefined;
  /** Resolves to `clean` when the body has ended within the bytes that are read. Never rejects. */
  readonly over: Promise<'clean' | 'broken'>;
}

export interface ResponseBounds {
  readonly limits: AttemptLimits;
  /** Bytes of response body that are read to keep the connection. */
  readonly maxBytes: number;
}

/** Some are legal (103 Early Hints); a flood of them would burn the CPU until the deadline. */
const MAX_INTERIM_RESPONSES = 32;

/** Returns a function to be called for each interim response. */
export function interimCounter(limits: AttemptLimits): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count <= MAX_INTERIM_RESPONSES) return;
    limits.reach(failure('protocol', `more than ${MAX_INTERIM_RESPONSES} 1xx responses`));
  };
}

/**
 * Sends a request over a connection of ours. By a handler and not by `request`, whose response is a stream: that took an
 * eighth of an attempt's CPU. Rejects with undici's error where there are no response headers.
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
  #tellOver: ((how: 'clean' | 'broken') => void) | undefined;

  constructor(receiving: Receiving) {
    this.#receiving = receiving;
    this.#onInterim = interimCounter(receiving.bounds.limits);
  }

  /** By this undici knows which kind of handler it has. */
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
    const over = new Promise<'clean' | 'broken'>((resolve) => {
      this.#tellOver = resolve;
    });
    this.#receiving.resolve({ status, retryAfter: firstRetryAfter(headers), over });
  }

  onResponseData(_controller: unknown, { length }: Buffer): void {
    this.#bytes += length;
    if (this.#bytes > this.#receiving.bounds.maxBytes) this.#tellOver?.('broken');
  }

  onResponseEnd(): void {
    // undici lends a connection again, or has ended it, a turn after its response: by an immediate that it sets next.
    queueMicrotask(() => void nextTurn().then(() => this.#tellOver?.('clean')));
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#receiving.reject(error);
    this.#tellOver?.('broken');
  }
}

/** The bytes are counted as they came: nothing is decompressed. Leaving the loop ends the socket. */
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

/** Destroys the socket under a body that was not read to its end; otherwise does nothing. */
export function discard(body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => {}).destroy();
}

export function firstRetryAfter(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): string | undefined {
  const header = Object.hasOwn(headers, 'retry-after') ? headers['retry-after'] : undefined;
  return Array.isArray(header) ? header[0] : header;
}
