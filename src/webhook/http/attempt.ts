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
import { nextTurn } from '../../runtime/yield-to-event-loop.ts';
import type { AttemptResult } from '../outcome.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { type Failure, failure, failureOf } from './errors.ts';
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

type Response = Dispatcher.ResponseData;
type Stopwatch = () => number;

/** Some are legal (103 Early Hints); a flood of them would burn the CPU until the deadline. */
const MAX_INTERIM_RESPONSES = 32;

/** Receivers commonly read so many bytes at a time. */
const MAX_READ_ALONG = 65_536;

export async function attempt(parts: Attempt): Promise<AttemptResult> {
  const { clock } = parts;
  const startedAtMs = clock.monotonicMs();
  const elapsedMs: Stopwatch = () => clock.monotonicMs() - startedAtMs;
  const line = await takeLine(parts);
  if (isFailure(line)) return { ...line, timings: { totalMs: elapsedMs() } };

  const { end, ...headers } = await exchange(line, parts, elapsedMs);
  const { phases, ...course } = line.course();
  return { ...end, ...course, timings: { ...phases, ...headers, totalMs: elapsedMs() } };
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
  const sending = send(line, request, limits);
  const response = await limits.until(sending);
  if (isFailure(response)) {
    // A foreign dispatcher may answer although its signal was aborted: that would hold a socket.
    void sending.then((late) => isFailure(late) || discard(late.body));
    line.end('broken');
    return { end: response };
  }
  limits.headersArrived();
  const firstByteMs = elapsedMs();
  tell(request.onHeaders);
  const how = await limits.until(drain(response.body, maxResponseBytes));
  discard(response.body);
  const isUsable = how === 'clean' && !mayBeUnread(request.body, response.statusCode);
  line.end(isUsable ? 'clean' : 'broken');
  const retryAfter = firstValue(response.headers['retry-after']);
  return { end: { kind: 'response', status: response.statusCode, retryAfter }, firstByteMs };
}

async function send(
  line: Line,
  request: PostRequest,
  limits: AttemptLimits,
): Promise<Response | Failure> {
  const { origin, pathname, search } = request.url;
  let interimResponses = 0;
  try {
    const options: Dispatcher.RequestOptions = ownProperties({
      origin,
      path: pathname + search,
      method: 'POST',
      headers: request.headers,
      body: request.body,
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
    return await line.send(options, limits);
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

/** The bytes are counted as they came: nothing is decompressed. Leaving the loop ends the socket. */
async function drain(body: Response['body'], maxBytes: number): Promise<'clean' | 'broken'> {
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return 'broken';
    }
  } catch {
    // The status was there before it, and stands.
    return 'broken';
  }
  // undici lends a connection again, or has ended it, a turn after its response.
  await nextTurn();
  return 'clean';
}

/** Destroys the socket under a body that was not read to its end; otherwise does nothing. */
function discard(body: Response['body']): void {
  body.on('error', () => {}).destroy();
}

function firstValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
