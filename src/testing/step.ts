/** What a receiver does to one request, as plain data. */

import { validateHeaderName, validateHeaderValue } from 'node:http';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';

/** An answer, whole and in order. */
export interface Reply {
  /** 200 to 599. */
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Seconds, a time, or the header's text as it is. */
  readonly retryAfter?: number | Date | string;
  readonly body?: string | Uint8Array;
  /** How long the answer takes to begin, up to 2147483647. Default 0. */
  readonly delayMs?: number;
}

/** Before a request is read. */
export type ConnectionFault =
  /** The next connection is reset as it comes in. */
  | { readonly fault: 'reset-on-connect' }
  /** The TLS handshake of the next connection begins late. */
  | { readonly fault: 'slow-tls'; readonly delayMs: number };

/** While a request is read. */
export type ReadingFault =
  /** A reset as soon as so many bytes of the body were read. Default 1. */
  | { readonly fault: 'reset-during-body'; readonly afterBytes?: number }
  /**
   * Bodies up to `maxBytes` are answered 200, larger ones with `status` (default 413; receivers in
   * the wild say 400, 401, 403 or 500) as soon as it shows, and the rest of the body is ignored.
   */
  | { readonly fault: 'body-limit'; readonly maxBytes: number; readonly status?: number };

/** Instead of a proper answer, once a request is read. `status` is 200 by default. */
export type AnswerFault =
  | { readonly fault: 'hang' }
  /** Response headers that announce a body, and nothing more. */
  | { readonly fault: 'hang-after-headers'; readonly status?: number }
  | { readonly fault: 'reset-before-response' }
  /** Response headers and a part of the body, then a reset. */
  | { readonly fault: 'reset-after-headers'; readonly status?: number }
  /** Response headers, then a byte of the body every `everyMs`. Default 100. */
  | { readonly fault: 'drip'; readonly everyMs?: number; readonly status?: number }
  /** A body without end, as fast as it is read. */
  | { readonly fault: 'endless-body'; readonly status?: number }
  /** Likewise, header fields. */
  | { readonly fault: 'endless-headers'; readonly status?: number }
  /** 103 (Early Hints) every `everyMs` (default 10), and never a final answer. */
  | { readonly fault: 'interim-flood'; readonly everyMs?: number }
  /** A small gzip body that becomes so many bytes. Default 1 GiB; in whole MiB. */
  | { readonly fault: 'gzip-bomb'; readonly inflatedBytes?: number; readonly status?: number }
  /** A redirect (default 307) to the receiver's own URL. */
  | { readonly fault: 'redirect-loop'; readonly status?: number }
  /** The greeting of another protocol, then the end of the connection. */
  | { readonly fault: 'not-http' }
  /** A proper 200; then the connection is closed while it is idle, `afterMs` (default 0) later. */
  | { readonly fault: 'close-idle'; readonly afterMs?: number };

export type Fault = ConnectionFault | ReadingFault | AnswerFault;

/** What is done to one request. */
export type Step = Reply | Fault;

export const OK: Reply = { status: 200 };

/** Which faults there are, and whether a connection takes them. */
const IS_OF_CONNECTING = {
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
  'fault' in step && IS_OF_CONNECTING[step.fault];

/** The names of all faults, for tests that go through them. */
export const FAULTS = Object.keys(IS_OF_CONNECTING) as readonly Fault['fault'][];

/** The headers of a reply, `Retry-After` among them. */
export function headersOf({ headers = {}, retryAfter }: Reply): Record<string, string> {
  if (retryAfter === undefined) return { ...headers };
  const text = retryAfter instanceof Date ? retryAfter.toUTCString() : String(retryAfter);
  return { ...headers, 'retry-after': text };
}

/** The longest wait that a timer of Node's can hold; a longer one would be over at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** How much each number of a step may be; 0 is the least. */
const MOST = {
  delayMs: MAX_TIMER_MS,
  everyMs: MAX_TIMER_MS,
  afterMs: MAX_TIMER_MS,
  afterBytes: Number.MAX_SAFE_INTEGER,
  maxBytes: Number.MAX_SAFE_INTEGER,
  inflatedBytes: Number.MAX_SAFE_INTEGER,
} as const;

/**
 * A step that can be played.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION` for an unknown fault, a status or another number out
 * of range, and headers or a body that are not fit to be sent.
 */
export function checkStep(given: Step, path: readonly PropertyKey[]): Step {
  const step = isObject(given) ? ownProperties(given) : given;
  const detail = mistakeIn(step);
  if (detail !== undefined) throw new SecurityEventError('ERR_INVALID_OPTION', { detail, path });
  return step;
}

function mistakeIn(step: Step): string | undefined {
  if (!isObject(step)) return 'expected an object';
  if ('fault' in step && !Object.hasOwn(IS_OF_CONNECTING, step.fault)) return 'an unknown fault';
  for (const [name, most] of Object.entries(MOST)) {
    if (!isWithin(Reflect.get(step, name), most)) return `${name}: expected 0 to ${most}`;
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

const isWithin = (value: unknown, most: number): boolean =>
  value === undefined || (typeof value === 'number' && value >= 0 && value <= most);

const isFinalStatus = (status: number | undefined): boolean =>
  Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599;
