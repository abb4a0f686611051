/**
 * Makes one attempt: one POST, with a status or a failure code as its result.
 *
 * Faults of the receiver or the network never throw here. Once the response headers have arrived the
 * status is the result, even if the body fails: retrying after a 200 would make a duplicate.
 */
import type { Dispatcher } from 'undici';
import { ownProperties } from '../../own-properties.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AttemptResult } from '../outcome.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { type Failure, failureOf } from './errors.ts';
import type { Response, ResponseBounds } from './response.ts';
import type { TlsCredentials } from './tls.ts';
import type { LeaseConnection, RequestLease, Transport } from './transport.ts';

export interface PostRequest {
  readonly url: URL;
  readonly body: Buffer;
  /** `host`, `connection` and `content-length` are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** Credentials for this destination. Not used with the host's own dispatcher. */
  readonly tls?: TlsCredentials | undefined;
  /** Called when the response headers arrive, before the body is read. Its errors are ignored. */
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

/** Receivers commonly read this many bytes at a time. */
const COMMON_READ_BYTES = 65_536;

export async function attempt(parts: Attempt): Promise<AttemptResult> {
  const { clock } = parts;
  const startedAtMs = clock.monotonicMs();
  const elapsedMs: Stopwatch = () => clock.monotonicMs() - startedAtMs;
  const lease = await leaseConnection(parts);
  if (isFailure(lease)) return { ...lease, timings: { totalMs: elapsedMs() } };

  const { end, firstByteMs } = await exchange(lease, parts, elapsedMs);
  const { phases, reusedConnection } = lease.connectInfo();
  const totalMs = elapsedMs();
  const timings =
    firstByteMs === undefined ? { ...phases, totalMs } : { ...phases, firstByteMs, totalMs };
  return reusedConnection === undefined
    ? { ...end, timings }
    : { ...end, reusedConnection, timings };
}

async function leaseConnection(parts: Attempt): Promise<RequestLease | Failure> {
  const { transport, request, limits } = parts;
  try {
    const lease = limits.reached ?? (await limits.race(transport.open()));
    if (limits.reached !== undefined) return limits.reached;
    return (lease as LeaseConnection)({ origin: request.url.origin, tls: request.tls });
  } catch (error) {
    return failureOf(error);
  }
}

interface Exchange {
  readonly end: Failure | Answer;
  readonly firstByteMs?: number;
}

type Answer = Pick<Extract<AttemptResult, { kind: 'response' }>, 'kind' | 'status' | 'retryAfter'>;

async function exchange(
  lease: RequestLease,
  parts: Attempt,
  elapsedMs: Stopwatch,
): Promise<Exchange> {
  const { request, limits, maxResponseBytes } = parts;
  const response = await limits.race(send(lease, request, { limits, maxBytes: maxResponseBytes }));
  if (isFailure(response)) {
    lease.end('broken');
    return { end: response };
  }
  limits.headersArrived();
  const firstByteMs = elapsedMs();
  notifyHeaders(request.onHeaders);
  const bodyEnd = await limits.race(response.bodyEnd);
  const { status, retryAfter } = response;
  const isReusable = bodyEnd === 'clean' && !mayBeUnread(request.body, status);
  lease.end(isReusable ? 'clean' : 'broken');
  return { end: { kind: 'response', status, retryAfter }, firstByteMs };
}

async function send(
  lease: RequestLease,
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
      // Off: AttemptLimits has the deadlines, and undici's restart with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return await lease.send(options, bounds);
  } catch (error) {
    return failureOf(error);
  }
}

/** Only an own key counts: a polluted prototype must not turn a response into a failure. */
const isFailure = (end: object): end is Failure => Object.hasOwn(end, 'kind');

/**
 * A receiver that refuses a large body may not have read it, and may never read the next request on
 * that connection. A smaller body arrives together with the headers.
 */
const mayBeUnread = (body: Buffer, status: number): boolean =>
  body.length > COMMON_READ_BYTES && !(status >= 200 && status <= 299);

function notifyHeaders(onHeaders: (() => void) | undefined): void {
  try {
    onHeaders?.();
  } catch {
    // A listener's error must not change the attempt.
  }
}
