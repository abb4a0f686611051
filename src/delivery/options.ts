/**
 * Every option of `createWebhookSender` and `sendWebhook`: one row gives its type, range and default. The comment of a
 * row is shown by editors and in docs/options.md; a test compares the range and the default that it names.
 */
import { type Dialect, MAX_MESSAGES_PER_REQUEST } from '../contract/index.ts';
import {
  integer,
  judgedElsewhere,
  MAX_TIMER_MS,
  type OptionsOf,
  object,
  oneOf,
  option,
  optional,
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
const RATE = judgedElsewhere('a number from 0.001 to 1000000');
const COUNT = integer(1, 1_000_000);
const MESSAGES = integer(1, MAX_MESSAGES_PER_REQUEST);

/** How requests are made, by senders and by `sendWebhook`. */
const REQUEST_OPTIONS = {
  /**
   * Maximum time of one attempt, in ms (D76). Connecting may take 5 s of it. The response headers must arrive within
   * 15 s, or within all but 5 s of it, whichever is longer. 1 to 2147483647; default 20000.
   */
  deadlineMs: option(MS, 20_000),
  /**
   * Which addresses may be connected to (D77). `'allow-private'` adds private and loopback addresses, for a receiver
   * inside your network; `'delegated'` leaves it to your dispatcher. Default `'public'`.
   */
  network: option<NetworkPolicy>(oneOf('allow-private', 'public', 'delegated'), 'public'),
  /**
   * An undici dispatcher of your own, for example for a proxy (D77). Needs `network: 'delegated'`. Default
   * connections of its own.
   */
  dispatcher: optional<NonNullable<PosterOptions['dispatcher']>>(
    object(
      'a dispatcher of undici',
      (value) => 'request' in value && typeof value.request === 'function',
    ),
    'connections of its own',
  ),
  /** Further headers. `Content-Type`, `Content-Length` and `X-Svc-Integrity` cannot be changed (D35). Default none. */
  headers: optional<Readonly<Record<string, string>>>(
    // A Headers or a Map has no own keys, so its headers would be dropped silently.
    object('an object of names and values', (value) => !(Symbol.iterator in value)),
  ),
  /** The header User-Agent (D35). Default `security-event-delivery/<version>`. */
  userAgent: optional<string>(TEXT, '`security-event-delivery/<version>`'),
};

/** What a request may hold. */
const REQUEST_LIMITS = {
  /**
   * Maximum size of a request body, in bytes (D73). A message that is larger by itself is refused. 1 to
   * 9007199254740991; default 1048576.
   */
  maxBodyBytes: option(BYTES, 1_048_576),
  /** Maximum number of messages in a request (D31). 1 to 1000; default 1000. */
  maxMessages: option(MESSAGES, MAX_MESSAGES_PER_REQUEST),
};

const DIALECT = {
  /** Dialect that messages are validated against (D0). Default `'strict'`. */
  dialect: option<Dialect>(oneOf('strict', 'open'), 'strict'),
};

/** How the engine retries and holds back. */
export const POLICY_OPTIONS = {
  ...REQUEST_LIMITS,
  /** Maximum number of messages in a request to a destination that is untried or failing (D75). 1 to 1000; default 100. */
  cautiousMaxMessages: option(MESSAGES, 100),
  /**
   * Maximum number of attempts of a message that is refused with a 4xx other than 408, 413, 425 and 429 (D72). 1 to
   * 1000000; default 6.
   */
  refusedMaxAttempts: option(COUNT, 6),
  /**
   * Size of a body above which 400, 401, 403 or 500 may mean that it is too large, in bytes (D73). 1 to
   * 9007199254740991; default 100000.
   */
  largeBodyBytes: option(BYTES, LARGE_BODY_BYTES),
  /** Number of requests in a row without a success after which a bisection ends (D74). 1 to 1000000; default 12. */
  bisectionMaxFailures: option(COUNT, 12),
  /**
   * Number of failed requests in a row after which the circuit breaker of a destination opens: then it is only probed
   * (D75). 1 to 1000000; default 5.
   */
  openAfterFailures: option(COUNT, 5),
  /**
   * Minimum time between two probes, in ms, even if the schedule has shorter waits (D75). `maxProbeWaitMs` wins if it is smaller.
   * 1 to 2147483647; default 1000.
   */
  minProbeWaitMs: option(MS, 1000),
  /** Maximum time between two probes, in ms (D75). 1 to 2147483647; default 300000. */
  maxProbeWaitMs: option(MS, 300_000),
  /**
   * Time of one step of a slow start, in ms (D75). A destination that recovers gets one request in the first step, then
   * two, four, eight … 1 to 2147483647; default 1000.
   */
  slowStartStepMs: option(MS, 1000),
  /**
   * Minimum time between the two answers of 410 that close a destination, in ms (D72). With 0 the first one closes it.
   * 0 to 2147483647; default 60000.
   */
  goneConfirmMs: option(WAIT_MS, 60_000),
  /**
   * Number of successes after which a learned byte budget grows by a tenth (D73), and a learned number of messages
   * doubles. 1 to 1000000; default 20.
   */
  growAfterSuccesses: option(COUNT, 20),
};

/** Where to send: `url` and `secret`, or `settings`. */
export const DESTINATION_OPTIONS = {
  /** Where requests go; used exactly as written (D33). */
  url: optional<string>(
    judgedElsewhere('an absolute http or https URL without credentials'),
    'required',
  ),
  /** Key of the signature, as UTF-8 bytes (D32). */
  secret: optional<string>(judgedElsewhere('a non-empty string'), 'required'),
  /**
   * The only application whose messages are accepted; others reject with `ERR_UNKNOWN_APPLICATION`. Receivers of format 1
   * get `name` and `environment`. Default any application's messages.
   */
  application: optional<{
    /** Not empty. */
    readonly id: string;
    readonly name: string;
    readonly environment: string;
  }>(judgedElsewhere('`{ id, name, environment }`, all strings'), "any application's messages"),
  /** Format that the receiver reads; 1 is deprecated (D40). Default 2. */
  format: option<Format>(oneOf(1, 2), 2),
  /** Maximum number of requests per second, for all processes that share the queue. 0.001 to 1000000; default no limit. */
  maxRequestsPerSecond: optional<number>(RATE, 'no limit'),
  /**
   * Maximum number of messages per second, for all processes that share the queue. A request has at most those of one
   * second. 0.001 to 1000000; default no limit.
   */
  maxMessagesPerSecond: optional<number>(RATE, 'no limit'),
  /** For receivers with a private certificate authority or with client certificates. Default none. */
  tls: optional<ApplicationTls>(
    judgedElsewhere('`{ ca, cert, key }` in PEM form, `cert` and `key` together'),
  ),
  /** Instead of the options above: an object of applications, or a function that returns one (D60). */
  settings: optional<SettingsSource>(judgedElsewhere('an object of applications, or a function')),
};

/**
 * - `both`: accepts messages and delivers what waits in the queue.
 * - `enqueue`: accepts only; another process delivers. Needs neither URLs nor secrets.
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
   * Whether this process accepts messages, delivers them, or both. `'enqueue'` and `'deliver'` need a `queue`. Default
   * `'both'`.
   */
  role: option<SenderRole>(oneOf('both', 'enqueue', 'deliver'), 'both'),
  ...DIALECT,
  /** In format 1, writes `id`, `url` and `risk` beside `event_id` and `event_url` (D41). Default `false`. */
  v1Aliases: option(oneOf(true, false), false),
  /**
   * When a failed message is retried, and until when (D71). Default 5 s to 12 h in 10 steps, then every 12 h, until the
   * horizon: 72 h, or 1 h with a queue in memory. With your own `delaysMs`, `repeatLast` is false by default.
   */
  schedule: optional<Partial<RetrySchedule>>(
    judgedElsewhere('an object of `delaysMs`, `repeatLast`, `horizonMs` and `maxWaitMs`'),
    '5 s to 12 h in 10 steps, then every 12 h',
  ),
  /**
   * Time for which an idle destination waits for more messages to go into the same request, in ms; 0 sends at once.
   * Messages gather anyway while a request is in flight. 0 to 2147483647; default 0.
   */
  lingerMs: option(WAIT_MS, 0),
  /**
   * Maximum number of bytes that may wait in the queue in memory. Past it `send` rejects with `ERR_QUEUE_FULL` (D78). A
   * `queue` of your own has its own bounds. 1 to 9007199254740991; default 67108864.
   */
  maxPendingBytes: optional<number>(BYTES, '67108864'),
  /**
   * Maximum number of messages that may wait in the queue in memory. Past it `send` rejects with `ERR_QUEUE_FULL` (D78).
   * 1 to 9007199254740991; default 100000.
   */
  maxPendingMessages: optional<number>(integer(1, Number.MAX_SAFE_INTEGER), '100000'),
  /**
   * Maximum number of bytes of dead letters in the queue in memory. Past it the oldest are discarded. 0 to
   * 9007199254740991; default 16777216.
   */
  maxDeadBytes: optional<number>(integer(0, Number.MAX_SAFE_INTEGER), '16777216'),
  ...POLICY_OPTIONS,
  /**
   * Maximum number of requests whose response has not come and is not late yet (D75). At most an eighth of the
   * files that the process may open. 1 to 1000000; default 64.
   */
  maxActiveRequests: option(COUNT, 64),
  /**
   * Maximum number of requests whose response is late (D75): each costs a socket and a timer. At most a quarter of
   * the files that the process may open. 1 to 1000000; default 1024.
   */
  maxWaitingRequests: option(COUNT, 1024),
  /**
   * Time without response headers after which a response is late, in ms; the same for settings that a function returns
   * (D75). 1 to 2147483647; default 50.
   */
  lateAfterMs: option(MS, 50),
  /**
   * Time for which a claim is leased, in ms; after that another process may send its messages. Longer than `deadlineMs`. 1 to
   * 2147483647; default 60000, or three times `deadlineMs`, if that is more.
   */
  leaseMs: optional<number>(MS, '60000, or three times `deadlineMs`'),
  /** Time between two searches for expired and stalled messages, in ms. 1 to 2147483647; default 60000. */
  maintenanceIntervalMs: option(MS, 60_000),
  /** Time after which a message that is due and could be sent is reported as `stalled`, in ms. 1 to 2147483647; default 60000. */
  stalledAfterMs: option(MS, 60_000),
  /**
   * Maximum time to wait for pending messages when the process has nothing else to do, in ms; 0 does not wait (D80). 0
   * to 2147483647; default 0.
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
   * When a message that failed is sent again (D71). What is left out has these defaults: `delaysMs` 500, 2000 and 5000,
   * `maxWaitMs` 30000 (at most 2147483647), no repetition and no horizon. Default 0.5 s, 2 s and 5 s.
   */
  schedule: optional<Partial<RetrySchedule>>(
    judgedElsewhere('an object of `delaysMs`, `repeatLast`, `horizonMs` and `maxWaitMs`'),
    '0.5 s, 2 s and 5 s',
  ),
  ...REQUEST_LIMITS,
  ...REQUEST_OPTIONS,
  /** Ends the call: what is not delivered by then is reported as `aborted`. Default none. */
  signal: optional<AbortSignal>(SIGNAL),
};

/** Everything but where to send. */
export interface DeliveryOptions<D extends Dialect = 'strict'>
  extends OptionsOf<typeof DELIVERY_OPTIONS, { dialect: D }> {}

type Destination = OptionsOf<typeof DESTINATION_OPTIONS>;

/** An application's URL and secret. */
export interface WebhookDestination extends Required<Pick<Destination, 'url' | 'secret'>> {}

/** One destination. */
export interface OneDestination
  extends WebhookDestination,
    Pick<
      Destination,
      'application' | 'format' | 'tls' | 'maxRequestsPerSecond' | 'maxMessagesPerSecond'
    > {}

/** The applications: an object, or a function that returns one application (D60). */
export interface ManyDestinations extends Required<Pick<Destination, 'settings'>> {}

export type WebhookSenderOptions<D extends Dialect = 'strict'> = (
  | OneDestination
  | ManyDestinations
) &
  DeliveryOptions<D>;

export interface SendOptions<D extends Dialect = 'strict', F extends Format = 2>
  extends OptionsOf<typeof SEND_OPTIONS, { dialect: D; format: F }> {}
