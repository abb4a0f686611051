/** Where to send, and how: what `sendWebhook` is given, checked before anything is sent. */
import { type Dialect, MAX_MESSAGES_PER_REQUEST } from '../contract/index.ts';
import {
  ANYTHING,
  check,
  integer,
  invalidOption,
  oneOf,
  type Rules,
  SIGNAL,
} from '../option-rules.ts';
import type { Format } from '../queue/queue.ts';
import {
  COMMON_RULES,
  checkDispatcher,
  checkSchedule,
  DEFAULT_MAX_BODY_BYTES,
  deadlinesOf,
} from '../webhook/common-options.ts';
import type { Deadlines, PosterOptions } from '../webhook/http/client.ts';
import { type NetworkPolicy, refuseLiteralAddress } from '../webhook/http/ssrf-guard.ts';
import { parseWebhookUrl } from '../webhook/http/webhook-url.ts';
import { requestHeaders } from '../webhook/request-headers.ts';
import type { RetrySchedule } from '../webhook/retry.ts';
import { checkSecret } from '../webhook/signature.ts';
import type { EngineSchedule } from './retry-policy.ts';

/** An application's URL and secret. */
export interface WebhookDestination {
  /** Absolute, http or https, without credentials; used as it is (D33). */
  readonly url: string;
  /** The key of the signature: its UTF-8 bytes, not empty. */
  readonly secret: string;
}

export interface SendOptions<D extends Dialect = 'strict', F extends Format = 2> {
  /**
   * The format of the messages given, which are sent as they are: 2 (default), or 1, which is
   * deprecated. Nothing is converted.
   */
  readonly format?: F;
  /** The contract's dialect that messages are checked against. Default `'strict'`. */
  readonly dialect?: D;
  /**
   * When to send again what failed. What is left out has these defaults: `delaysMs` 500, 2000 and
   * 5000, `maxWaitMs` 30000 (at most 2147483647), no repetition and no horizon.
   */
  readonly schedule?: Partial<RetrySchedule>;
  /** The largest body of a request, in bytes. A positive integer; default 1048576. */
  readonly maxBodyBytes?: number;
  /** The most messages in a request. 1 to 1000; default 1000. */
  readonly maxMessages?: number;
  /**
   * How long one attempt may take in all, in ms: 1 to 2147483647, default 20000. Of it, connecting
   * may take 5 s, and the response headers must be there after 15 s, or 5 s before the end where
   * that is later.
   */
  readonly deadlineMs?: number;
  /**
   * Which addresses may be connected to (D77). Default `'public'`. `'allow-private'` adds private and loopback
   * addresses, for a receiver inside your network.
   */
  readonly network?: NetworkPolicy;
  /** An undici dispatcher of your own, for a proxy or for client certificates say. Needs `network: 'delegated'`. */
  readonly dispatcher?: NonNullable<PosterOptions['dispatcher']>;
  /** Further headers. `Content-Type`, `Content-Length` and `X-Svc-Integrity` cannot be changed. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The header User-Agent. Default `security-event-delivery/<version>`. */
  readonly userAgent?: string;
  /** Ends the call: what is not delivered by then is reported as `aborted`. */
  readonly signal?: AbortSignal;
}

/** Options with their defaults, checked. */
export interface SendSettings {
  readonly url: URL;
  readonly secret: string;
  readonly format: Format;
  readonly dialect: Dialect;
  readonly schedule: EngineSchedule;
  readonly maxBodyBytes: number;
  readonly maxMessages: number;
  readonly deadlines: Partial<Deadlines>;
  readonly network: NetworkPolicy;
  readonly dispatcher: PosterOptions['dispatcher'];
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

/** D71 */
const DEFAULT_SCHEDULE = { delaysMs: [500, 2000, 5000], maxWaitMs: 30_000 } as const;

const DESTINATION_RULES: Rules<keyof WebhookDestination> = {
  // Both have checks and codes of their own.
  url: ANYTHING,
  secret: ANYTHING,
};

const OPTION_RULES: Rules<keyof SendOptions> = {
  ...COMMON_RULES,
  format: oneOf(2, 1),
  maxMessages: integer(1, MAX_MESSAGES_PER_REQUEST),
  signal: SIGNAL,
};

/**
 * Checks everything but the messages.
 *
 * @throws SecurityEventError `ERR_INVALID_URL`, `ERR_INVALID_SECRET`, `ERR_ADDRESS_REFUSED` or `ERR_INVALID_OPTION`;
 * its `path` names what is at fault.
 */
export function readSettings(destination: unknown, options: unknown): SendSettings {
  const { url, secret } = check<WebhookDestination>(destination, DESTINATION_RULES, {
    name: 'the destination',
    path: [],
  });
  const given = check<SendOptions<Dialect, Format>>(options ?? {}, OPTION_RULES, {
    name: 'the options',
    path: [],
  });
  const network = given.network ?? 'public';
  checkDispatcher(given.dispatcher, network);
  const parsedUrl = parseWebhookUrl(url as string);
  refuseLiteralAddress(parsedUrl, network);
  return {
    url: parsedUrl,
    secret: checkSecret(secret),
    format: given.format ?? 2,
    dialect: given.dialect ?? 'strict',
    schedule: directSchedule(given.schedule),
    maxBodyBytes: given.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES,
    maxMessages: given.maxMessages ?? MAX_MESSAGES_PER_REQUEST,
    deadlines: deadlinesOf(given.deadlineMs),
    network,
    dispatcher: given.dispatcher,
    headers: requestHeaders(given),
    signal: given.signal,
  };
}

/**
 * A schedule with the defaults of `sendWebhook`.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` begins with `schedule`.
 */
export function directSchedule(options: unknown): EngineSchedule {
  const given = checkSchedule(options);
  // Without an end the call would never return while its receiver fails.
  if (given.repeatLast === true && given.horizonMs === undefined) {
    throw invalidOption('schedule.repeatLast needs schedule.horizonMs', ['schedule', 'horizonMs']);
  }
  const { delaysMs = DEFAULT_SCHEDULE.delaysMs, maxWaitMs = DEFAULT_SCHEDULE.maxWaitMs } = given;
  const { horizonMs = Number.POSITIVE_INFINITY } = given;
  return Object.assign(given, { delaysMs, maxWaitMs, horizonMs });
}
