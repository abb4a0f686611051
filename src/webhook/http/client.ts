/** Sends attempts, each as one POST, and aborts those in flight when it is closed. */
import type { Dispatcher } from 'undici';
import { ownProperties } from '../../own-properties.ts';
import type { Clock } from '../../runtime/clock.ts';
import { NumberedItems } from '../../runtime/numbered-items.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { untraced } from '../../runtime/untraced.ts';
import type { AttemptResult } from '../outcome.ts';
import { Attempt, type PostRequest } from './attempt.ts';
import { type Failure, failure } from './errors.ts';
import type { NetworkPolicy } from './ssrf-guard.ts';
import { connectionTransport, type Deadlines, dispatcherTransport } from './transport.ts';

export type { PostRequest } from './attempt.ts';
export type { TlsCredentials } from './tls.ts';
export type { Deadlines } from './transport.ts';

/** Validated options, of a sender or of `sendWebhook`. */
export interface PosterOptions {
  readonly network: NetworkPolicy;
  readonly clock: Clock;
  /** The host's own, for example for a proxy. It chooses addresses itself: needs `'delegated'`. */
  readonly dispatcher?: Dispatcher | undefined;
  /** Default: 5 s to connect, 15 s to the response headers, 20 s in total. */
  readonly deadlines?: Partial<Deadlines>;
  /** Maximum bytes of response body that are read to keep the connection. Default 8192. */
  readonly maxResponseBytes?: number;
  /** Maximum idle connections, to all receivers together. Default 256. */
  readonly maxIdleConnections?: number;
  /** Ends the attempts in flight, and all later ones. Those that have response headers keep their status. */
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_DEADLINES: Deadlines = { connectMs: 5000, headersMs: 15_000, totalMs: 20_000 };

export interface Poster {
  /** Never rejects: every fault becomes a result. */
  post(request: PostRequest): Promise<AttemptResult>;
  /**
   * Aborts the attempts in flight and all later ones, and closes idle connections, but not the
   * host's own dispatcher. Idempotent.
   */
  close(): Promise<void>;
}

export function createPoster(options: PosterOptions): Poster {
  const { network, clock, dispatcher, signal, ...limits } = ownProperties(options);
  const { maxResponseBytes = 8192, maxIdleConnections = 256 } = limits;
  const deadlines = { ...DEFAULT_DEADLINES, ...limits.deadlines };
  const settings = { network, clock, deadlines, maxResponseBytes };
  const transport =
    dispatcher === undefined
      ? connectionTransport(settings, maxIdleConnections)
      : dispatcherTransport(dispatcher);
  const inFlight = new NumberedItems<Attempt>();
  let closing: Promise<void> | undefined;
  let aborted: Failure | undefined;
  const abortAll = (reason: 'signal' | 'closed'): void => {
    aborted ??= failure('aborted', reason);
    for (const attempt of inFlight) attempt.stop(aborted);
  };
  // One listener for all attempts: Node compares a new listener with all existing ones.
  const stopListening = signal && onAbort(signal, () => abortAll('signal'));

  const post = (given: PostRequest): Promise<AttemptResult> => {
    const request = ownProperties(given);
    const onEnd = (): void => void inFlight.remove(number);
    const attempt = new Attempt({ transport, request, deadlines, maxResponseBytes, clock, onEnd });
    const number = inFlight.add(attempt);
    if (aborted === undefined) attempt.start();
    else attempt.stop(aborted);
    return attempt.result;
  };

  return {
    // Untraced again for each attempt: since the delivery began, a tracer may have been loaded, or settings of the
    // host may have called `enterWith` of an AsyncLocalStorage.
    post: (given) => untraced(() => post(given)),
    close: () => {
      stopListening?.();
      abortAll('closed');
      closing ??= transport.close();
      return closing;
    },
  };
}
