/** Steps of a receiver, as plain data. */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { SecurityEventError } from '../errors.ts';
import { MAX_TIMER_MS } from '../option-rules.ts';
import { ownProperties } from '../own-properties.ts';

/** A regular response. */
export interface Reply {
  /** 200 to 599. */
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Seconds, a time, or the text of the header. */
  readonly retryAfter?: number | Date | string;
  readonly body?: string | Uint8Array;
  /** Wait before the response, in ms, up to 2147483647. Default 0. */
  readonly delayMs?: number;
}

/** Before a request is read. */
export type ConnectionFault =
  /** The next connection is reset when it is accepted. */
  | { readonly fault: 'reset-on-connect' }
  /** The TLS handshake of the next connection begins late. */
  | { readonly fault: 'slow-tls'; readonly delayMs: number };

/** While a request is read. */
export type ReadingFault =
  /** A reset after `afterBytes` of the body. Default 1. */
  | { readonly fault: 'reset-during-body'; readonly afterBytes?: number }
  /**
   * Bodies up to `maxBytes` get 200, larger ones `status` (default 413; real receivers send 400, 401, 403 or
   * 500) as soon as they exceed it, and the rest of the body is ignored.
   */
  | { readonly fault: 'body-limit'; readonly maxBytes: number; readonly status?: number };

/** Instead of a regular response, after a request was read. `status` is 200 by default. */
export type AnswerFault =
  | { readonly fault: 'hang' }
  /** Response headers that announce a body, and then nothing. */
  | { readonly fault: 'hang-after-headers'; readonly status?: number }
  | { readonly fault: 'reset-before-response' }
  /** Response headers and a part of the body, then a reset. */
  | { readonly fault: 'reset-after-headers'; readonly status?: number }
  /** Response headers, then a byte of the body every `everyMs`. Default 100. */
  | { readonly fault: 'drip'; readonly everyMs?: number; readonly status?: number }
  /** An endless body, as fast as it is read. */
  | { readonly fault: 'endless-body'; readonly status?: number }
  /** Endless header fields, as fast as they are read. */
  | { readonly fault: 'endless-headers'; readonly status?: number }
  /** 103 (Early Hints) every `everyMs` (default 10), and never a final response. */
  | { readonly fault: 'interim-flood'; readonly everyMs?: number }
  /** A small gzip body that inflates to `inflatedBytes`, rounded up to whole MiB. Default 1 GiB. */
  | { readonly fault: 'gzip-bomb'; readonly inflatedBytes?: number; readonly status?: number }
  /** A redirect (default 307) to the receiver's own URL. */
  | { readonly fault: 'redirect-loop'; readonly status?: number }
  /** The greeting of another protocol, then the end of the connection. */
  | { readonly fault: 'not-http' }
  /** A regular 200; `afterMs` (default 0) later the idle connection is closed. */
  | { readonly fault: 'close-idle'; readonly afterMs?: number };

export type Fault = ConnectionFault | ReadingFault | AnswerFault;

/** What the receiver does with one request. */
export type Step = Reply | Fault;

export const OK: Reply = { status: 200 };

/** All faults, and whether they apply to connections. */
const IS_CONNECTION_FAULT = {
  'reset-on-connect': true,
  'slow-tls': true,
  'reset-during-body': false,
  'body-limit': false,
  hang: false,
  'hang-after-headers': false,
  'reset-before-response': false,
  'reset-after-headers': false,
  drip: false,
  'endless-body': false,
  'endless-headers': false,
  'interim-flood': false,
  'gzip-bomb': false,
  'redirect-loop': false,
  'not-http': false,
  'close-idle': false,
} as const satisfies {
  readonly [F in Fault as F['fault']]: F extends ConnectionFault ? true : false;
};

export const isConnectionFault = (step: Step): step is ConnectionFault =>
  'fault' in step && IS_CONNECTION_FAULT[step.fault];

/** The names of all faults, for tests that try each of them. */
export const FAULTS = Object.keys(IS_CONNECTION_FAULT) as readonly Fault['fault'][];

/** Returns the headers of a reply, including `Retry-After`. */
export function headersOf({ headers = {}, retryAfter }: Reply): Record<string, string> {
  if (retryAfter === undefined) return { ...headers };
  const text = retryAfter instanceof Date ? retryAfter.toUTCString() : String(retryAfter);
  return { ...headers, 'retry-after': text };
}

/** Maximum of each number of a step; the minimum is 0. */
const MAXIMA = {
  delayMs: MAX_TIMER_MS,
  everyMs: MAX_TIMER_MS,
  afterMs: MAX_TIMER_MS,
  afterBytes: Number.MAX_SAFE_INTEGER,
  maxBytes: Number.MAX_SAFE_INTEGER,
  inflatedBytes: Number.MAX_SAFE_INTEGER,
} as const;

/**
 * Validates a step.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION` for an unknown fault, a number out of range, and invalid
 * headers or body.
 */
export function checkStep(given: Step, path: readonly PropertyKey[]): Step {
  const step = isObject(given) ? ownProperties(given) : given;
  const detail = mistakeIn(step);
  if (detail !== undefined) throw new SecurityEventError('ERR_INVALID_OPTION', { detail, path });
  return step;
}

function mistakeIn(step: Step): string | undefined {
  if (!isObject(step)) return 'expected an object';
  if ('fault' in step && !Object.hasOwn(IS_CONNECTION_FAULT, step.fault)) return 'an unknown fault';
  for (const [name, max] of Object.entries(MAXIMA)) {
    if (!isWithin(Reflect.get(step, name), max)) return `${name}: expected 0 to ${max}`;
  }
  if ('status' in step && !isFinalStatus(step.status)) return 'status: expected 200 to 599';
  return 'fault' in step ? undefined : mistakeInReply(step);
}

function mistakeInReply(reply: Reply): string | undefined {
  const { status, body = '' } = reply;
  if (status === undefined) return 'expected a fault or a status';
  if (typeof body !== 'string' && !ArrayBuffer.isView(body)) return 'body: expected text or bytes';
  try {
    for (const [name, value] of Object.entries(headersOf(reply))) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
  } catch {
    return 'a header that cannot be sent';
  }
  return undefined;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isWithin = (value: unknown, max: number): boolean =>
  value === undefined || (typeof value === 'number' && value >= 0 && value <= max);

const isFinalStatus = (status: number | undefined): boolean =>
  Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599;
