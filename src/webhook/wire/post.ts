/**
 * One attempt on the wire: one POST, one status or one word for why there is none.
 *
 * What a receiver or the network does never throws here. Once the response headers are there, the
 * status is the result, whatever becomes of the body: only the status has a meaning (D34), and a
 * second sending of what was answered with 200 would be a duplicate.
 */
import type { Dispatcher } from 'undici';
import { nextTurn } from '../../system/next-turn.ts';
import type { AttemptResult } from '../outcome.ts';
import { type AttemptLimits, startLimits } from './attempt-limits.ts';
import { type Failure, failure, failureOf } from './failure.ts';
import { checkPosterOptions, type PosterOptions } from './post-options.ts';
import { foreignTransport, ownTransport, type Transport } from './transport.ts';

export type { Deadlines } from './attempt-limits.ts';
export type { PosterOptions } from './post-options.ts';

export interface PostRequest {
  readonly url: URL | string;
  readonly body: Buffer;
  /** Sent as they are; `host`, `connection` and `content-length` are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the attempt as `aborted`, unless the response headers were there before. */
  readonly signal?: AbortSignal | undefined;
}

export interface Poster {
  /** Never rejects: what goes wrong is told by the result. */
  post(request: PostRequest): Promise<AttemptResult>;
  /**
   * Ends the attempts in flight as `aborted` and closes idle connections, but not a foreign
   * dispatcher's. Later posts are `aborted`. Idempotent.
   */
  close(): Promise<void>;
}

/** Some are legal (103 Early Hints); a flood of them would burn the CPU until the deadline. */
const MAX_INTERIM_RESPONSES = 32;

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. */
export function createPoster(options: PosterOptions): Poster {
  const settings = checkPosterOptions(options);
  const { clock, deadlines, dispatcher, maxResponseBytes } = settings;
  const transport =
    dispatcher === undefined ? ownTransport(settings) : foreignTransport(dispatcher);
  const inFlight = new Set<AttemptLimits>();
  let closing: Promise<void> | undefined;

  return {
    post: async (request) => {
      const startedAt = clock.monotonicMs();
      const limits = startLimits(clock, deadlines, request.signal);
      inFlight.add(limits);
      if (closing !== undefined) limits.reach(closedFailure());
      const outcome = await attempt({ transport, request, limits, maxResponseBytes });
      inFlight.delete(limits);
      limits.end();
      return { ...outcome, durationMs: clock.monotonicMs() - startedAt };
    },
    close: () => {
      for (const limits of inFlight) limits.reach(closedFailure());
      closing ??= transport.close();
      return closing;
    },
  };
}

type Response = Omit<Extract<AttemptResult, { kind: 'response' }>, 'durationMs'>;
type Body = Dispatcher.ResponseData['body'];

interface Attempt {
  readonly transport: Transport;
  readonly request: PostRequest;
  readonly limits: AttemptLimits;
  readonly maxResponseBytes: number;
}

async function attempt(parts: Attempt): Promise<Response | Failure> {
  const { limits, maxResponseBytes } = parts;
  const sending = send(parts);
  const first = await Promise.race([limits.reached, sending]);
  if ('kind' in first) {
    // A foreign dispatcher may answer although its signal was aborted: that would hold a socket.
    void sending.then((late) => 'kind' in late || discard(late.body));
    return first;
  }
  limits.headersArrived();
  await Promise.race([limits.reached, drain(first.body, maxResponseBytes)]);
  discard(first.body);
  return {
    kind: 'response',
    status: first.statusCode,
    retryAfter: firstValue(first.headers['retry-after']),
  };
}

async function send(parts: Attempt): Promise<Dispatcher.ResponseData | Failure> {
  const { transport, request, limits } = parts;
  let interimResponses = 0;
  try {
    const { origin, pathname, search } = new URL(request.url);
    if (limits.signal.aborted) return await limits.reached;
    const sendRequest = await transport.open();
    if (limits.signal.aborted) return await limits.reached;
    return await sendRequest({
      origin,
      path: pathname + search,
      method: 'POST',
      headers: request.headers,
      body: request.body,
      signal: limits.signal,
      // The attempt's own deadlines count: undici's start anew with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      onInfo: () => {
        interimResponses += 1;
        if (interimResponses > MAX_INTERIM_RESPONSES) {
          limits.reach(failure('protocol', `more than ${MAX_INTERIM_RESPONSES} 1xx responses`));
        }
      },
    });
  } catch (error) {
    return failureOf(error);
  }
}

/** The bytes are counted as they came: nothing is decompressed. Leaving the loop ends the socket. */
async function drain(body: Body, maxBytes: number): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return;
    }
    // undici lends a connection again a turn after its response: a post before would open another.
    await nextTurn();
  } catch {
    // A body that breaks off changes nothing: the status was there before it.
  }
}

/** Destroys the socket under a body that was not read to its end; otherwise does nothing. */
function discard(body: Body): void {
  body.on('error', () => {}).destroy();
}

function firstValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function closedFailure(): Failure {
  return failure('aborted', 'closed');
}
