/**
 * One attempt on the wire: one POST, one status or one word for why there is none.
 *
 * What a receiver or the network does never throws here. Once the response headers are there, the
 * status is the result, whatever becomes of the body: only the status has a meaning (D34), and a
 * second sending of what was answered with 200 would be a duplicate.
 */
import type { Dispatcher } from 'undici';
import { ownProperties } from '../../own-properties.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AttemptResult } from '../outcome.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { type Failure, failureOf } from './errors.ts';
import type { Response, ResponseBounds } from './response.ts';
import type { TlsCredentials } from './tls.ts';
import type { Line, TakeLine, Transport } from './transport.ts';

export interface PostRequest {
  readonly url: URL;
  readonly body: Buffer;
  /** Sent as they are; `host`, `connection` and `content-length` are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of this destination; a dispatcher of the host's own has its own, and these are not used. */
  readonly tls?: TlsCredentials | undefined;
  /**
   * Called once when the response headers are there, before the body is read; not where the attempt
   * ended before. What it throws is ignored.
   */
  readonly onHeaders?: (() => void) | undefined;
}

export interface Attempt {
  readonly transport: Transport;
  readonly request: PostRequest;
  readonly limits: AttemptLimits;
  /** Bytes of response body that are read to keep the connection. */
  readonly maxResponseBytes: number;
  readonly clock: Clock;
}

type Stopwatch = () => number;

/** Receivers commonly read so many bytes at a time. */
const MAX_READ_ALONG = 65_536;

export async function attempt(parts: Attempt): Promise<AttemptResult> {
  const { clock } = parts;
  const startedAtMs = clock.monotonicMs();
  const elapsedMs: Stopwatch = () => clock.monotonicMs() - startedAtMs;
  const line = await takeLine(parts);
  if (isFailure(line)) return { ...line, timings: { totalMs: elapsedMs() } };

  const { end, firstByteMs } = await exchange(line, parts, elapsedMs);
  const { phases, reusedConnection } = line.course();
  const totalMs = elapsedMs();
  const timings =
    firstByteMs === undefined ? { ...phases, totalMs } : { ...phases, firstByteMs, totalMs };
  return reusedConnection === undefined
    ? { ...end, timings }
    : { ...end, reusedConnection, timings };
}

async function takeLine({ transport, request, limits }: Attempt): Promise<Line | Failure> {
  try {
    const take = limits.reached ?? (await limits.until(transport.open()));
    if (limits.reached !== undefined) return limits.reached;
    return (take as TakeLine)({ origin: request.url.origin, tls: request.tls });
  } catch (error) {
    return failureOf(error);
  }
}

interface Exchange {
  readonly end: Failure | Answer;
  readonly firstByteMs?: number;
}

type Answer = Pick<Extract<AttemptResult, { kind: 'response' }>, 'kind' | 'status' | 'retryAfter'>;

async function exchange(line: Line, parts: Attempt, elapsedMs: Stopwatch): Promise<Exchange> {
  const { request, limits, maxResponseBytes } = parts;
  const response = await limits.until(send(line, request, { limits, maxBytes: maxResponseBytes }));
  if (isFailure(response)) {
    line.end('broken');
    return { end: response };
  }
  limits.headersArrived();
  const firstByteMs = elapsedMs();
  tell(request.onHeaders);
  const how = await limits.until(response.over);
  const { status, retryAfter } = response;
  const isUsable = how === 'clean' && !mayBeUnread(request.body, status);
  line.end(isUsable ? 'clean' : 'broken');
  return { end: { kind: 'response', status, retryAfter }, firstByteMs };
}

async function send(
  line: Line,
  request: PostRequest,
  bounds: ResponseBounds,
): Promise<Response | Failure> {
  const { origin, pathname, search } = request.url;
  try {
    const options: Dispatcher.DispatchOptions = ownProperties({
      origin,
      path: pathname + search,
      method: 'POST',
      headers: request.headers,
      body: request.body,
      // The attempt's own deadlines count: undici's start anew with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return await line.send(options, bounds);
  } catch (error) {
    return failureOf(error);
  }
}

/** By a key of its own: a polluted prototype makes no failure of a response. */
const isFailure = (end: object): end is Failure => Object.hasOwn(end, 'kind');

/**
 * Who refuses a body need not have read it, and may never read what would come behind it. A smaller
 * one is not worth a new connection: it is read with the headers.
 */
const mayBeUnread = (body: Buffer, status: number): boolean =>
  body.length > MAX_READ_ALONG && !(status >= 200 && status <= 299);

function tell(onHeaders: (() => void) | undefined): void {
  try {
    onHeaders?.();
  } catch {
    // Whoever listens has no part in the attempt.
  }
}
