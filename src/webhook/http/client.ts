/** Sends attempts, each as one POST of our own, and ends those under way when it is closed. */
import { ownProperties } from '../../own-properties.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { untraced } from '../../runtime/untraced.ts';
import type { AttemptResult } from '../outcome.ts';
import { attempt, type PostRequest } from './attempt.ts';
import { AttemptLimits, type Deadlines } from './attempt-limits.ts';
import { failure } from './errors.ts';
import { foreignTransport, ownTransport, type PosterSettings } from './transport.ts';

export type { PostRequest } from './attempt.ts';
export type { Deadlines } from './attempt-limits.ts';
export type { TlsCredentials } from './tls.ts';

/** Checked before: the options of a sender and of `sendWebhook` become these. */
export interface PosterOptions
  extends Pick<PosterSettings, 'network' | 'clock'>,
    Partial<Omit<PosterSettings, 'network' | 'clock' | 'deadlines'>> {
  /** Default: 5 s to connect, 15 s to the response headers, 20 s in all (D76). */
  readonly deadlines?: Partial<Deadlines>;
  /** Ends the attempts in flight as `aborted`, unless their response headers are there, and all later ones. */
  readonly signal?: AbortSignal | undefined;
}

/** D76 */
const DEFAULT_DEADLINES: Deadlines = { connectMs: 5000, headersMs: 15_000, totalMs: 20_000 };
const DEFAULTS = {
  dispatcher: undefined,
  maxResponseBytes: 8192,
  maxIdleConnections: 256,
} as const;

export interface Poster {
  /** Never rejects: what goes wrong is told by the result. */
  post(request: PostRequest): Promise<AttemptResult>;
  /**
   * Ends the attempts in flight as `aborted` and closes idle connections, but not a foreign
   * dispatcher's. Later posts are `aborted`. Idempotent.
   */
  close(): Promise<void>;
}

export function createPoster(options: PosterOptions): Poster {
  const deadlinesInAll = { ...DEFAULT_DEADLINES, ...options.deadlines };
  const settings: PosterSettings = { ...DEFAULTS, ...options, deadlines: deadlinesInAll };
  const { clock, deadlines, dispatcher, maxResponseBytes } = settings;
  const transport =
    dispatcher === undefined ? ownTransport(settings) : foreignTransport(dispatcher);
  const inFlight = new Set<AttemptLimits>();
  let closing: Promise<void> | undefined;
  let whyEnded: 'signal' | 'closed' | undefined;
  const endAll = (why: 'signal' | 'closed'): void => {
    whyEnded ??= why;
    for (const limits of inFlight) limits.reach(failure('aborted', whyEnded));
  };
  // One listener for all attempts: Node compares a new one with all that are there.
  const letGo = options.signal && onAbort(options.signal, () => endAll('signal'));

  const post = async (given: PostRequest): Promise<AttemptResult> => {
    const request = ownProperties(given);
    const limits = new AttemptLimits(clock, deadlines);
    inFlight.add(limits);
    if (whyEnded !== undefined) limits.reach(failure('aborted', whyEnded));
    const result = await attempt({ transport, request, limits, maxResponseBytes, clock });
    inFlight.delete(limits);
    limits.end();
    return result;
  };

  return {
    // For each attempt: a tracer may have come after what the attempt is part of had begun.
    post: (given) => untraced(() => post(given)),
    close: () => {
      letGo?.();
      endAll('closed');
      closing ??= transport.close();
      return closing;
    },
  };
}
