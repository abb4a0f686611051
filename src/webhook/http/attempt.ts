/**
 * One attempt: one POST, with a status or a failure code as its result.
 *
 * Faults of the receiver or the network never throw here. Once the response headers have arrived the
 * status is the result, even if the body fails: retrying after a 200 would make a duplicate.
 */
import type { Dispatcher } from 'undici';
import { ownProperties } from '../../own-properties.ts';
import type { Clock } from '../../runtime/clock.ts';
import { deferred } from '../../runtime/deferred.ts';
import { realTimers } from '../../runtime/real-timers.ts';
import { callInNextTurn } from '../../runtime/yield-to-event-loop.ts';
import type { AttemptResult, ConnectionUse } from '../outcome.ts';
import type { ConnectInfo } from './connection.ts';
import { type Failure, failure, failureOf } from './errors.ts';
import type { Lease, ResponseHandler, ResponseHeaders } from './pool.ts';
import type { TlsCredentials } from './tls.ts';
import type { Deadlines, Transport } from './transport.ts';

export interface PostRequest {
  readonly url: URL;
  readonly body: Buffer;
  /** `host`, `connection` and `content-length` are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** Credentials for this destination. Not used with the host's own dispatcher. */
  readonly tls?: TlsCredentials | undefined;
}

export interface AttemptParts {
  readonly transport: Transport;
  readonly request: PostRequest;
  readonly deadlines: Deadlines;
  /** Bytes of response body that are read to keep the connection. */
  readonly maxResponseBytes: number;
  readonly clock: Clock;
  /** Called once, when the attempt is over. */
  readonly onEnd: () => void;
}

/** What the result needs of a response: known once its headers have arrived. */
interface Head {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly firstByteMs: number;
}

/** Receivers commonly read this many bytes at a time. */
const COMMON_READ_BYTES = 65_536;

/** A few 1xx responses are legal (103 Early Hints); an endless stream would use CPU until the deadline. */
const MAX_INTERIM_RESPONSES = 32;

/**
 * Uses callbacks and one promise, and handles the response itself. With a promise for each step and undici's response
 * stream, an attempt took a quarter more CPU.
 */
export class Attempt implements ResponseHandler {
  readonly #parts: AttemptParts;
  readonly #startedAtMs: number;
  #cancelTimer: () => void;
  readonly #ended = deferred<AttemptResult>();
  #lease: Lease | undefined;
  #head: Head | undefined;
  #interimCount = 0;
  #bodyBytes = 0;
  #isOver = false;
  #controller: AbortController | undefined;

  /** Starts the deadlines. */
  constructor(parts: AttemptParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.monotonicMs();
    this.#cancelTimer = this.#startTimer(0);
  }

  /** Never rejects. */
  get result(): Promise<AttemptResult> {
    return this.#ended.promise;
  }

  /** Sends the request, once the transport is ready. */
  start(): void {
    const opening = this.#parts.transport.ready();
    if (opening === undefined) this.#send();
    else {
      opening.then(
        () => this.#send(),
        (error: unknown) => this.#end(failureOf(error)),
      );
    }
  }

  /** Ends the attempt early. If the response headers have arrived, their status stays the result. */
  stop(why: Failure): void {
    if (this.#isOver) return;
    this.#end(why);
    this.#controller?.abort();
  }

  /** Aborted when the attempt is stopped; for a dispatcher of the host. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** undici recognises its current kind of handler by this method. */
  onRequestStart(): void {}

  onResponseStart(_controller: unknown, status: number, headers: ResponseHeaders): void {
    if (this.#isOver) return;
    if (status < 200) {
      this.#interimCount += 1;
      if (this.#interimCount <= MAX_INTERIM_RESPONSES) return;
      this.stop(failure('protocol', `more than ${MAX_INTERIM_RESPONSES} 1xx responses`));
      return;
    }
    this.#head = { status, retryAfter: firstRetryAfter(headers), firstByteMs: this.#elapsedMs() };
  }

  onResponseData(_controller: unknown, { length }: Buffer): void {
    this.#bodyBytes += length;
    if (this.#bodyBytes > this.#parts.maxResponseBytes) this.#end('broken');
  }

  onResponseEnd(): void {
    // undici frees or ends the connection in an immediate that it schedules right after this call.
    realTimers.nextTick(callInNextTurn, () => this.#end('clean'));
  }

  onResponseError(_controller: unknown, error: unknown): void {
    this.#end(failureOf(error));
  }

  #send(): void {
    if (this.#isOver) return;
    const { transport, request } = this.#parts;
    const { url, headers, body, tls } = request;
    const options: Dispatcher.DispatchOptions = ownProperties({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers,
      body,
      // Off: this class has its own deadlines, and undici's timeouts restart with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    try {
      this.#lease = transport.lease({ origin: url.origin, tls });
      this.#lease.dispatcher.dispatch(options, this);
    } catch (error) {
      this.#end(failureOf(error));
    }
  }

  /** `clean`: the whole body was read. Anything else ends the connection. The first end counts. */
  #end(how: 'clean' | 'broken' | Failure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    const { request, onEnd } = this.#parts;
    const head = this.#head;
    const info = this.#lease?.connectInfo();
    const isClean =
      head !== undefined && how === 'clean' && !mayBeUnread(request.body, head.status);
    this.#lease?.end(isClean ? 'clean' : 'broken');
    const use = this.#connectionUse(info);
    if (head === undefined) this.#ended.resolve({ ...(how as Failure), ...use });
    else {
      const { status, retryAfter } = head;
      this.#ended.resolve({ kind: 'response', status, retryAfter, ...use });
    }
    onEnd();
  }

  #connectionUse(info: ConnectInfo | undefined): ConnectionUse {
    const firstByteMs = this.#head?.firstByteMs;
    const totalMs = this.#elapsedMs();
    const phases = info?.phases;
    const timings =
      firstByteMs === undefined ? { ...phases, totalMs } : { ...phases, firstByteMs, totalMs };
    const reusedConnection = info?.reusedConnection;
    return reusedConnection === undefined ? { timings } : { timings, reusedConnection };
  }

  /** One timer for both deadlines, since most attempts end long before the first. */
  #startTimer(elapsedMs: number): () => void {
    const { clock, deadlines } = this.#parts;
    const { totalMs, headersMs } = deadlines;
    const isTotal = this.#head !== undefined || totalMs <= headersMs;
    const limitMs = isTotal ? totalMs : headersMs;
    const expire = (): void => {
      if (this.#isOver) return;
      if (this.#head !== undefined && !isTotal)
        this.#cancelTimer = this.#startTimer(this.#elapsedMs());
      else this.stop(failure(isTotal ? 'deadline' : 'headers-timeout', `${limitMs} ms`));
    };
    // After the next poll: when the process was paused beyond the deadline, the response may be there already.
    return clock.startTimer(limitMs - elapsedMs, () => callInNextTurn(expire), 'ref');
  }

  #elapsedMs(): number {
    return this.#parts.clock.monotonicMs() - this.#startedAtMs;
  }
}

/**
 * A receiver that refuses a large body may not have read it, and may never read the next request on
 * that connection. A smaller body arrives together with the headers.
 */
const mayBeUnread = (body: Buffer, status: number): boolean =>
  body.length > COMMON_READ_BYTES && !(status >= 200 && status <= 299);

function firstRetryAfter(headers: ResponseHeaders): string | undefined {
  const header = Object.hasOwn(headers, 'retry-after') ? headers['retry-after'] : undefined;
  return Array.isArray(header) ? header[0] : header;
}
