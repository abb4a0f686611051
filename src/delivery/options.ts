/**
 * Every option of `createWebhookSender` and `sendWebhook`: one row gives its type, range and default. The comment of a
 * row is shown by editors and in docs/options.md; a test compares the range and the default that it names.
 */
import { type Dialect, MAX_MESSAGES_PER_REQUEST } from '../contract/index.ts';
import {
  checkedElsewhere,
  integer,
  MAX_TIMER_MS,
  type OptionsOf,
  object,
  oneOf,
  option,
  optional,
  type RequiredOptions,
  SIGNAL,
  TEXT,
} from '../option-rules.ts';
import type { Format, MessageQueue } from '../queue/queue.ts';
import type { ApplicationTls } from '../settings/schema.ts';
import type { SettingsSource } from '../settings/source.ts';
import type { PosterOptions } from '../webhook/http/client.ts';
import type { NetworkPolicy } from '../webhook/http/ssrf-guard.ts';
import { LARGE_BODY_BYTES } from '../webhook/outcome.ts';
import type { RetrySchedule } from '../webhook/retry.ts';

const BYTES = integer(1, Number.MAX_SAFE_INTEGER);
const MS = integer(1, MAX_TIMER_MS);
const WAIT_MS = integer(0, MAX_TIMER_MS);
const RATE = checkedElsewhere('a number from 0.001 to 1000000');
const SCHEDULE = checkedElsewhere(
  'an object of `delaysMs`, `repeatLast`, `horizonMs` and `maxWaitMs`',
);
const COUNT = integer(1, 1_000_000);
const MESSAGES = integer(1, MAX_MESSAGES_PER_REQUEST);

/** How requests are made, by senders and by `sendWebhook`. */
const REQUEST_OPTIONS = {
  /**
   * Maximum time of one attempt, in ms. Connecting may take 5 s. The response headers must arrive within 15 s, or 5 s
   * before the end, whichever is later. 1 to 2147483647; default 20000.
   */
  deadlineMs: option(MS, 20_000),
  /**
   * Addresses that may be connected to. `'allow-private'` adds private and loopback addresses; `'delegated'` leaves
   * it to your dispatcher. Default `'public'`.
   */
  network: option<NetworkPolicy>(oneOf('allow-private', 'public', 'delegated'), 'public'),
  /**
   * An undici dispatcher of your own, for example for a proxy. Needs `network: 'delegated'`. Default the library's own
   * connections.
   */
  dispatcher: optional<NonNullable<PosterOptions['dispatcher']>>(
    object(
      'a dispatcher of undici',
      (value) => 'request' in value && typeof value.request === 'function',
    ),
    "the library's own connections",
  ),
  /** Further headers. `Content-Type`, `Content-Length` and `X-Svc-Integrity` cannot be changed. Default none. */
  headers: optional<Readonly<Record<string, string>>>(
    // A Headers or a Map has no own keys, so its headers would be dropped silently.
    object('an object of names and values', (value) => !(Symbol.iterator in value)),
  ),
  /** The header User-Agent. Default `security-event-delivery/<version>`. */
  userAgent: optional<string>(TEXT, '`security-event-delivery/<version>`'),
};

/** What a request may hold. */
const REQUEST_LIMITS = {
  /** Maximum size of a request body, in bytes. A larger message is refused. 1 to 9007199254740991; default 1048576. */
  maxBodyBytes: option(BYTES, 1_048_576),
  /** Maximum number of messages in a request. 1 to 1000; default 1000. */
  maxMessages: option(MESSAGES, MAX_MESSAGES_PER_REQUEST),
};

const DIALECT = {
  /** Dialect that messages are validated against. Default `'strict'`. */
  dialect: option<Dialect>(oneOf('strict', 'open'), 'strict'),
};

/** How a sender retries, limits its requests and pauses destinations. */
export const POLICY_OPTIONS = {
  ...REQUEST_LIMITS,
  /** Maximum number of messages in a request to an untried or failing destination. 1 to 1000; default 100. */
  cautiousMaxMessages: option(MESSAGES, 100),
  /**
   * Maximum number of attempts of a message refused with a 4xx other than 408, 413, 425 and 429; those of a bisection do
   * not count. 1 to 1000000; default 6.
   */
  refusedMaxAttempts: option(COUNT, 6),
  /**
   * Size of a body, in bytes, above which 400, 401, 403 or 500 may mean "too large". 1 to 9007199254740991;
   * default 100000.
   */
  largeBodyBytes: option(BYTES, LARGE_BODY_BYTES),
  /** Number of failed requests in a row that end a bisection, the search for a bad message. 1 to 1000000; default 12. */
  bisectionMaxFailures: option(COUNT, 12),
  /** Number of failed requests in a row that open the circuit breaker of a destination. 1 to 1000000; default 5. */
  openAfterFailures: option(COUNT, 5),
  /**
   * Minimum time between two probes, in ms, even if the schedule has shorter waits. `maxProbeWaitMs` wins if it is
   * smaller. 1 to 2147483647; default 1000.
   */
  minProbeWaitMs: option(MS, 1000),
  /** Maximum time between two probes, in ms, to which jitter adds up to a quarter. 1 to 2147483647; default 300000. */
  maxProbeWaitMs: option(MS, 300_000),
  /**
   * Time of one step of a slow start, in ms. The first step allows one request, the next two, then four. 1
   * to 2147483647; default 1000.
   */
  slowStartStepMs: option(MS, 1000),
  /**
   * Minimum time between the two answers of 410 that close a destination, in ms; with 0 the first one closes it. 0
   * to 2147483647; default 60000.
   */
  goneConfirmMs: option(WAIT_MS, 60_000),
  /**
   * Number of successes after which a learned body size grows by a tenth, and a learned number of messages doubles.
   * 1 to 1000000; default 20.
   */
  growAfterSuccesses: option(COUNT, 20),
};

/** Where to send: `url` and `secret`, or `settings`. */
export const DESTINATION_OPTIONS = {
  /** Where requests go; used exactly as written. */
  url: optional<string>(
    checkedElsewhere('an absolute http or https URL without credentials'),
    'required',
  ),
  /** Key of the signature, as UTF-8 bytes. */
  secret: optional<string>(checkedElsewhere('a non-empty string'), 'required'),
  /**
   * The only application whose messages are accepted; others reject with `ERR_UNKNOWN_APPLICATION`. Format 1 needs
   * `name` and `environment`. Default any application.
   */
  application: optional<{
    /** Not empty. */
    readonly id: string;
    readonly name?: string | undefined;
    readonly environment?: string | undefined;
  }>(checkedElsewhere('`{ id, name, environment }`, all strings'), 'any application'),
  /** Format that the receiver reads; 1 is deprecated. Default 2. */
  format: option<Format>(oneOf(1, 2), 2),
  /**
   * Maximum number of requests per second, for all processes that share the queue. 0.001 to 1000000; default no
   * limit.
   */
  maxRequestsPerSecond: optional<number>(RATE, 'no limit'),
  /**
   * Maximum number of messages per second, for all processes that share the queue; also the maximum in one request.
   * 0.001 to 1000000; default no limit.
   */
  maxMessagesPerSecond: optional<number>(RATE, 'no limit'),
  /** For a private certificate authority or a client certificate. Default none. */
  tls: optional<ApplicationTls>(
    checkedElsewhere('`{ ca, cert, key }` in PEM form, `cert` and `key` together'),
  ),
  /** Instead of the options above. A function returns one application. */
  settings: optional<SettingsSource>(checkedElsewhere('an object of applications, or a function')),
};

/**
 * - `both`: accepts messages and delivers what waits in the queue.
 * - `enqueue`: accepts only; another process delivers. Its settings need neither URLs nor secrets: `() => ({})`.
 * - `deliver`: the same as `both`, but needs a `queue`: the messages come from other processes.
 */
export type SenderRole = 'both' | 'enqueue' | 'deliver';

/** How a sender delivers. */
export const DELIVERY_OPTIONS = {
  /** Where messages wait. `close` closes it. Default a queue in memory. */
  queue: optional<MessageQueue>(
    object('a message queue', (value) => 'claim' in value && 'enqueue' in value),
    'a queue in memory',
  ),
  /**
   * Whether this process delivers messages, or only accepts them (`'enqueue'`). `'enqueue'` and `'deliver'` need a
   * `queue`. Default `'both'`.
   */
  role: option<SenderRole>(oneOf('both', 'enqueue', 'deliver'), 'both'),
  ...DIALECT,
  /** In format 1, writes `id`, `url` and `risk` beside `event_id` and `event_url`. Default `false`. */
  v1Aliases: option(oneOf(true, false), false),
  /**
   * When a failed message is retried. Default 5 s to 12 h in 10 steps, then every 12 h until 72 h, or 1 h with a queue
   * in memory.
   */
  schedule: optional<Partial<RetrySchedule>>(
    SCHEDULE,
    '5 s to 12 h in 10 steps, then every 12 h until 72 h, or 1 h with a queue in memory',
  ),
  /**
   * Time for which an idle destination waits for more messages for the same request, in ms; 0 sends at once.
   * 0 to 2147483647; default 0.
   */
  lingerMs: option(WAIT_MS, 0),
  /**
   * Maximum number of bytes waiting in the queue in memory. Past it `send` rejects with `ERR_QUEUE_FULL`. 1 to
   * 9007199254740991; default 67108864.
   */
  maxPendingBytes: optional<number>(BYTES, '67108864'),
  /**
   * Maximum number of messages waiting in the queue in memory. Past it `send` rejects with `ERR_QUEUE_FULL`. 1 to
   * 9007199254740991; default 100000.
   */
  maxPendingMessages: optional<number>(integer(1, Number.MAX_SAFE_INTEGER), '100000'),
  /**
   * Maximum number of bytes of dead letters in the queue in memory. Past it the oldest are discarded. 0 to
   * 9007199254740991; default 16777216.
   */
  maxDeadBytes: optional<number>(integer(0, Number.MAX_SAFE_INTEGER), '16777216'),
  ...POLICY_OPTIONS,
  /**
   * Maximum number of active requests: those that are not late (`lateAfterMs`). At most an eighth of the files that the
   * process may open. 1 to 1000000; default 64.
   */
  maxActiveRequests: option(COUNT, 64),
  /**
   * Maximum number of late requests, each of which costs a socket and a timer. At most a quarter of the
   * files that the process may open. 1 to 1000000; default 1024.
   */
  maxWaitingRequests: option(COUNT, 1024),
  /**
   * Time for which a request may wait for its settings, or for the end of its response, before it is late, in ms. 1 to
   * 2147483647; default 50.
   */
  lateAfterMs: option(MS, 50),
  /**
   * Time for which a claim is leased, in ms; then another process may send its messages. Longer than `deadlineMs`. 1
   * to 2147483647; default 60000, or three times `deadlineMs` if that is more.
   */
  leaseMs: optional<number>(MS, '60000, or three times `deadlineMs` if that is more'),
  /** Time between two searches for expired and stalled messages, in ms. 1 to 2147483647; default 60000. */
  maintenanceIntervalMs: option(MS, 60_000),
  /** Time after which a message that could be sent is reported as `stalled`, in ms. 1 to 2147483647; default 60000. */
  stalledAfterMs: option(MS, 60_000),
  /**
   * Maximum time to wait for pending messages when the process has nothing else to do, in ms; 0 does not wait. 0 to
   * 2147483647; default 0.
   */
  flushBeforeExitMs: option(WAIT_MS, 0),
  ...REQUEST_OPTIONS,
};

/** How `sendWebhook` sends. */
export const SEND_OPTIONS = {
  /** The format of the messages, which are sent as they are: 2, or 1, which is deprecated. Default 2. */
  format: option<Format>(oneOf(2, 1), 2),
  ...DIALECT,
  /**
   * When a message that failed is sent again (D71). Omitted fields have these defaults: `delaysMs` 500, 2000 and 5000,
   * `maxWaitMs` 30000 (at most 2147483647), no repetition and no horizon. Default 0.5 s, 2 s and 5 s.
   */
  schedule: optional<Partial<RetrySchedule>>(SCHEDULE, '0.5 s, 2 s and 5 s'),
  ...REQUEST_LIMITS,
  ...REQUEST_OPTIONS,
  /** Ends the call: messages not delivered by then are reported as `aborted`. Default none. */
  signal: optional<AbortSignal>(SIGNAL),
};

/** Options of a sender, except the destination. */
export interface DeliveryOptions<D extends Dialect = 'strict'>
  extends OptionsOf<typeof DELIVERY_OPTIONS, { dialect: D }> {}

type DestinationOptions = OptionsOf<typeof DESTINATION_OPTIONS>;

/** An application's URL and secret. */
export interface WebhookDestination extends RequiredOptions<DestinationOptions, 'url' | 'secret'> {}

/** A single URL and secret, for one application or for any. */
export interface OneDestination
  extends WebhookDestination,
    Pick<
      DestinationOptions,
      'application' | 'format' | 'tls' | 'maxRequestsPerSecond' | 'maxMessagesPerSecond'
    > {}

/** The applications: an object, or a function that returns one application (D60). */
export interface ManyDestinations extends RequiredOptions<DestinationOptions, 'settings'> {}

export type WebhookSenderOptions<D extends Dialect = 'strict'> = (
  | OneDestination
  | ManyDestinations
) &
  DeliveryOptions<D>;

export interface SendOptions<D extends Dialect = 'strict', F extends Format = 2>
  extends OptionsOf<typeof SEND_OPTIONS, { dialect: D; format: F }> {}
