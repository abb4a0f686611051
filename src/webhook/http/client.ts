/** Sends attempts, each as one POST, and aborts those in flight when it is closed. */
import { ownProperties } from '../../own-properties.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { untraced } from '../../runtime/untraced.ts';
import type { AttemptResult } from '../outcome.ts';
import { attempt, type PostRequest } from './attempt.ts';
import { AttemptLimits, type Deadlines } from './attempt-limits.ts';
import { type Failure, failure } from './errors.ts';
import { foreignTransport, ownTransport, type PosterSettings } from './transport.ts';

export type { PostRequest } from './attempt.ts';
export type { Deadlines } from './attempt-limits.ts';
export type { TlsCredentials } from './tls.ts';

/** Validated options, of a sender or of `sendWebhook`. */
export interface PosterOptions
  extends Pick<PosterSettings, 'network' | 'clock'>,
    Partial<Omit<PosterSettings, 'network' | 'clock' | 'deadlines'>> {
  /** Default: 5 s to connect, 15 s to the response headers, 20 s in total. */
  readonly deadlines?: Partial<Deadlines>;
  /** Aborts attempts that are waiting for response headers, and all later ones. */
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_DEADLINES: Deadlines = { connectMs: 5000, headersMs: 15_000, totalMs: 20_000 };
const DEFAULTS = {
  dispatcher: undefined,
  maxResponseBytes: 8192,
  maxIdleConnections: 256,
} as const;

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
  const deadlines = { ...DEFAULT_DEADLINES, ...options.deadlines };
  const settings: PosterSettings = { ...DEFAULTS, ...options, deadlines };
  const { clock, dispatcher, maxResponseBytes } = settings;
  const transport =
    dispatcher === undefined ? ownTransport(settings) : foreignTransport(dispatcher);
  const inFlight = new Set<AttemptLimits>();
  let closing: Promise<void> | undefined;
  let aborted: Failure | undefined;
  const abortAll = (reason: 'signal' | 'closed'): void => {
    aborted ??= failure('aborted', reason);
    for (const limits of inFlight) limits.reach(aborted);
  };
  // One listener for all attempts: Node compares a new listener with all existing ones.
  const stopListening = options.signal && onAbort(options.signal, () => abortAll('signal'));

  const post = async (given: PostRequest): Promise<AttemptResult> => {
    const request = ownProperties(given);
    const limits = new AttemptLimits(clock, deadlines);
    inFlight.add(limits);
    if (aborted !== undefined) limits.reach(aborted);
    const result = await attempt({ transport, request, limits, maxResponseBytes, clock });
    inFlight.delete(limits);
    limits.clearTimers();
    return result;
  };

  return {
    // Untraced again for each attempt: a tracer may have been loaded after the delivery began.
    post: (given) => untraced(() => post(given)),
    close: () => {
      stopListening?.();
      abortAll('closed');
      closing ??= transport.close();
      return closing;
    },
  };
}
