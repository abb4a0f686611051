/**
 * What became of one attempt (one POST), told without any text of the receiver's: its status and
 * headers, or one word of a closed vocabulary. And what follows from it: one table, for the direct
 * sender and for a queue's.
 */

/** Why an attempt ended without a response. */
export type FailureCode =
  /** the network guard refused the address (D77) */
  | 'address-refused'
  /** the name did not resolve */
  | 'dns'
  | 'connection-refused'
  | 'network-unreachable'
  /** no connection within the connect deadline (D76) */
  | 'connect-timeout'
  /** the certificate or the handshake was refused */
  | 'tls'
  /** no response headers within the header deadline (D76) */
  | 'headers-timeout'
  /** the attempt's whole time was over (D76) */
  | 'deadline'
  /** the connection ended before the response headers */
  | 'connection-reset'
  /** what came back is not HTTP, or breaks its limits */
  | 'protocol'
  /** the caller's signal */
  | 'aborted'
  /** undici could not be loaded: nothing can be sent until the deployment is mended */
  | 'undici-missing'
  | 'network';

/**
 * How long each phase of an attempt took, in ms on a clock that never jumps. A phase is absent where
 * it did not happen (as on a connection used again, or under a dispatcher of the host's own) or did
 * not end.
 */
export interface PhaseTimings {
  /** The name look-up; absent also where the URL holds an address. */
  readonly dnsMs?: number;
  readonly tcpMs?: number;
  readonly tlsMs?: number;
  /** From the attempt's start, connecting included, to the response headers. */
  readonly firstByteMs?: number;
  /** From the attempt's start to its end: the response body's, or the failure. */
  readonly totalMs: number;
}

interface AttemptCourse {
  readonly timings: PhaseTimings;
  /**
   * Whether the attempt had a connection that had served one before. Absent where nobody knows:
   * under a dispatcher of the host's own, or where the attempt ended before it needed any.
   */
  readonly reusedConnection?: boolean;
}

/** One attempt as the wire saw it. */
export type AttemptResult = AttemptCourse &
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
        /** One sentence that names rule, phase and system error code; no received text. */
        readonly detail: string;
      }
  );

/** What follows from an attempt for its messages, and for the destination. */
export type Outcome =
  /** 200-299 (D34) */
  | 'delivered'
  /** failed; the same messages are due again by the schedule */
  | 'later'
  /** failed for its size: due again at once, half as many in a request (D73) */
  | 'smaller'
  /** like `later`, and nothing goes to the destination before its Retry-After (D72) */
  | 'pause'
  /** like `later`; said twice it closes the destination of a queue (D72) */
  | 'close'
  /** failed for good */
  | 'dead';

export interface Judgement {
  readonly outcome: Outcome;
  /** The attempts that a message has in all if they end like this; `undefined`: no limit (D72). */
  readonly maxAttempts: number | undefined;
}

interface StatusRow extends Judgement {
  readonly from: number;
  readonly to: number;
  /** Said of a body above {@link LARGE_BODY_BYTES} it means the size, whatever the status says. */
  readonly blamesSize: boolean;
  /** One message may be the fault: a request that keeps failing so is bisected (D74). */
  readonly blamesContent: boolean;
}

/**
 * Receivers in the wild refuse a body above the limit of their JSON parser (100 kB is a common
 * default) with a status that says something else (D73).
 */
export const LARGE_BODY_BYTES = 100_000;

/** Each row has every key: one that is absent would be looked up on `Object.prototype`. */
const PLAIN = { maxAttempts: undefined, blamesSize: false, blamesContent: false } as const;

/** D72: other refusals of what was sent are not going to change in 72 hours of asking. */
const REFUSED = { ...PLAIN, outcome: 'later', maxAttempts: 6 } as const;

/** The first row that holds the status counts. */
const STATUS_TABLE: readonly StatusRow[] = [
  { from: 200, to: 299, ...PLAIN, outcome: 'delivered' },
  { from: 400, to: 400, ...REFUSED, blamesSize: true, blamesContent: true },
  { from: 401, to: 401, ...REFUSED, blamesSize: true },
  { from: 403, to: 403, ...REFUSED, blamesSize: true },
  { from: 408, to: 408, ...PLAIN, outcome: 'later' },
  { from: 410, to: 410, ...PLAIN, outcome: 'close', maxAttempts: 6 },
  { from: 413, to: 413, ...PLAIN, outcome: 'smaller' },
  { from: 422, to: 422, ...REFUSED, blamesContent: true },
  { from: 425, to: 425, ...PLAIN, outcome: 'later' },
  { from: 429, to: 429, ...PLAIN, outcome: 'pause' },
  { from: 400, to: 499, ...REFUSED },
  { from: 500, to: 500, ...PLAIN, outcome: 'later', blamesSize: true, blamesContent: true },
  { from: 503, to: 503, ...PLAIN, outcome: 'pause' },
];

/**
 * No response: whatever ended an attempt may be over the next time; a name may even lead to another
 * address. And 3xx, which is never followed (D34), other 5xx, numbers that HTTP does not know.
 */
const ANYTHING_ELSE: Judgement = { outcome: 'later', maxAttempts: undefined };

/** What was sent: how large the body was, and how many messages it held. */
export interface AttemptSize {
  readonly bytes: number;
  readonly messageCount: number;
  /** Above it a refusal may mean the size. */
  readonly largeBodyBytes: number;
}

/** Pure: what follows from an attempt. */
export function judgeAttempt(result: AttemptResult, size: AttemptSize): Judgement {
  const row = result.kind === 'response' ? rowOf(result.status) : undefined;
  if (row === undefined) return ANYTHING_ELSE;
  const isAlone = size.messageCount === 1;
  if (row.outcome === 'smaller')
    return { outcome: isAlone ? 'dead' : 'smaller', maxAttempts: undefined };
  const isLarge = size.bytes > size.largeBodyBytes && !isAlone;
  if (row.blamesSize && isLarge) return { outcome: 'smaller', maxAttempts: undefined };
  return { outcome: row.outcome, maxAttempts: row.maxAttempts };
}

/** Whether the answer may be the fault of one message among those sent (D74). */
export function blamesContent(result: AttemptResult): boolean {
  return result.kind === 'response' && rowOf(result.status)?.blamesContent === true;
}

function rowOf(status: number): StatusRow | undefined {
  return STATUS_TABLE.find(({ from, to }) => status >= from && status <= to);
}
