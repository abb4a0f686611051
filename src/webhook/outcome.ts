/**
 * The result of one attempt (one POST), and what follows from it for the messages. A result never
 * contains text of the receiver: only the status, Retry-After, or one of our failure codes.
 */

/** Why an attempt ended without a response. */
export type FailureCode =
  /** the network guard refused the address */
  | 'address-refused'
  /** the name did not resolve */
  | 'dns'
  | 'connection-refused'
  | 'network-unreachable'
  /** no connection within the connect deadline */
  | 'connect-timeout'
  /** the certificate or the handshake was refused */
  | 'tls'
  /** no response headers within the header deadline */
  | 'headers-timeout'
  /** no response headers within the total deadline; in the report of `flush`, before it ended */
  | 'deadline'
  /** the connection ended before the response headers */
  | 'connection-reset'
  /** the response is not HTTP, or exceeds a limit */
  | 'protocol'
  /** the caller's signal was aborted, or the sender was closed */
  | 'aborted'
  /** undici could not be loaded: nothing can be sent until it is installed */
  | 'undici-missing'
  /** any other error on this side */
  | 'network';

/**
 * How long each phase of an attempt took, in ms of a monotonic clock. A phase is absent if it did not
 * happen (on a reused connection, or with the host's own dispatcher) or did not end.
 */
export interface PhaseTimings {
  /** The name look-up; also absent if the URL contains an address. */
  readonly dnsMs?: number;
  readonly tcpMs?: number;
  readonly tlsMs?: number;
  /** From the attempt's start, connecting included, to the response headers. */
  readonly firstByteMs?: number;
  /** From the attempt's start to the end of the response body, or to the failure. */
  readonly totalMs: number;
}

export interface ConnectionUse {
  readonly timings: PhaseTimings;
  /**
   * Whether the attempt used an existing connection. Absent if unknown (the host's own dispatcher),
   * or if the attempt ended before it needed a connection.
   */
  readonly reusedConnection?: boolean;
}

/** The result of one attempt. */
export type AttemptResult = ConnectionUse &
  (
    | {
        readonly kind: 'response';
        readonly status: number;
        /** The Retry-After header as received. */
        readonly retryAfter: string | undefined;
      }
    | {
        readonly kind: 'failure';
        readonly code: FailureCode;
        /** One sentence that names the rule, phase and system error code; no received text. */
        readonly detail: string;
      }
  );

/** What happens to the messages of an attempt, and to the destination. */
export type Outcome =
  /** 200-299 */
  | 'delivered'
  /** failed; the same messages are due again by the schedule */
  | 'later'
  /** too large: due again at once, half as many in a request */
  | 'smaller'
  /** like `later`, and the destination gets no requests until the time of its Retry-After */
  | 'pause'
  /** like `later`; a second time closes the destination, except in `sendWebhook` */
  | 'close'
  /** failed for good */
  | 'dead';

export interface Judgement {
  readonly outcome: Outcome;
  /** Whether the receiver refuses the messages. If so, they get at most `refusedMaxAttempts` attempts. */
  readonly isRefusal: boolean;
}

interface StatusRow extends Judgement {
  readonly from: number;
  readonly to: number;
  /** Whether the status means "too large" if several messages were sent in a body above `largeBodyBytes`. */
  readonly blamesSize: boolean;
  /** Whether one of the messages may be the cause. If so, a request that keeps failing is bisected. */
  readonly blamesContent: boolean;
}

/** Default of `largeBodyBytes`: 100 kB is a common limit of JSON parsers, and many receivers do not answer 413 then. */
export const LARGE_BODY_BYTES = 100_000;

/** A row has all keys, so that none is read from a polluted `Object.prototype`. */
const NO_BLAME = { isRefusal: false, blamesSize: false, blamesContent: false } as const;

/** The receiver rejects the content: 72 hours of retries would not change that. */
const REFUSED = { ...NO_BLAME, outcome: 'later', isRefusal: true } as const;

/** The first row that contains the status counts. */
const STATUS_TABLE: readonly StatusRow[] = [
  { from: 200, to: 299, ...NO_BLAME, outcome: 'delivered' },
  { from: 400, to: 400, ...REFUSED, blamesSize: true, blamesContent: true },
  { from: 401, to: 401, ...REFUSED, blamesSize: true },
  { from: 403, to: 403, ...REFUSED, blamesSize: true },
  { from: 408, to: 408, ...NO_BLAME, outcome: 'later' },
  { from: 410, to: 410, ...NO_BLAME, outcome: 'close', isRefusal: true },
  { from: 413, to: 413, ...NO_BLAME, outcome: 'smaller' },
  { from: 422, to: 422, ...REFUSED, blamesContent: true },
  { from: 425, to: 425, ...NO_BLAME, outcome: 'later' },
  { from: 429, to: 429, ...NO_BLAME, outcome: 'pause' },
  { from: 400, to: 499, ...REFUSED },
  { from: 500, to: 500, ...NO_BLAME, outcome: 'later', blamesSize: true, blamesContent: true },
  { from: 503, to: 503, ...NO_BLAME, outcome: 'pause' },
];

/** For failures without a response, redirects (never followed), other 5xx and unknown statuses. */
const ANYTHING_ELSE: Judgement = { outcome: 'later', isRefusal: false };

/** Size of the request. */
export interface AttemptSize {
  readonly bytes: number;
  readonly messageCount: number;
  /** Above this size a refusal may mean "too large". */
  readonly largeBodyBytes: number;
}

/** Returns what happens after an attempt. */
export function judgeAttempt(result: AttemptResult, size: AttemptSize): Judgement {
  const row = result.kind === 'response' ? rowOf(result.status) : undefined;
  if (row === undefined) return ANYTHING_ELSE;
  const isAlone = size.messageCount === 1;
  if (row.outcome === 'smaller') return { outcome: isAlone ? 'dead' : 'smaller', isRefusal: false };
  const isLarge = size.bytes > size.largeBodyBytes && !isAlone;
  if (row.blamesSize && isLarge) return { outcome: 'smaller', isRefusal: false };
  return { outcome: row.outcome, isRefusal: row.isRefusal };
}

/** Returns whether one of the sent messages may be the cause of this response. */
export function blamesContent(result: AttemptResult): boolean {
  return result.kind === 'response' && rowOf(result.status)?.blamesContent === true;
}

function rowOf(status: number): StatusRow | undefined {
  return STATUS_TABLE.find(({ from, to }) => status >= from && status <= to);
}
