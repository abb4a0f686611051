/** What `createWebhookSender` is given. */
import type { Dialect } from '../contract/index.ts';
import type { Format, MessageQueue } from '../queue/queue.ts';
import type { ApplicationTls } from '../settings/schema.ts';
import type { SettingsSource } from '../settings/source.ts';
import type { PosterOptions } from '../webhook/http/client.ts';
import type { NetworkPolicy } from '../webhook/http/ssrf-guard.ts';
import type { RetrySchedule } from '../webhook/retry.ts';
import type { DeliveryPolicy } from './retry-policy.ts';

/**
 * - `both`: accepts messages and delivers what waits in the queue.
 * - `enqueue`: accepts only; another process delivers. Needs neither URLs nor secrets.
 * - `deliver`: like `both`; says that messages come from other processes.
 */
export type SenderRole = 'both' | 'enqueue' | 'deliver';

type Policy = Omit<DeliveryPolicy, 'schedule'>;

/** Everything but where to send. */
export interface DeliveryOptions<D extends Dialect = 'strict'> extends Partial<Policy> {
  /**
   * Where messages wait. It belongs to this sender: `close` closes it. Default a queue in memory,
   * of this sender alone.
   */
  readonly queue?: MessageQueue;
  /**
   * Whether this process accepts messages, delivers what waits, or both. Default `'both'`; the others
   * need a `queue`.
   */
  readonly role?: SenderRole;
  /** The contract's dialect that messages are checked against (D0). Default `'strict'`. */
  readonly dialect?: D;
  /** In format 1, writes `id`, `url` and `risk` beside `event_id` and `event_url` (D41). Default `false`. */
  readonly v1Aliases?: boolean;
  /**
   * When a message that failed is sent again, and until when (D71). Default 5 s to 12 h in 10 steps,
   * then every 12 h, until the horizon: 72 h after acceptance, 1 h with a queue in memory. With
   * `delaysMs` of your own, `repeatLast` is false unless you say otherwise. `explainSchedule` gives
   * the times.
   */
  readonly schedule?: Partial<RetrySchedule>;
  /**
   * How long an idle destination waits for more messages to go into the same request, in ms; 0 sends
   * at once. While a request is in flight messages gather in any case. 0 to 2147483647; default 0.
   */
  readonly lingerMs?: number;
  /**
   * How many bytes may wait in the queue in memory; past it `send` rejects with `ERR_QUEUE_FULL`
   * (D78). 1 to 9007199254740991; default 67108864. A `queue` of your own has its own bounds.
   */
  readonly maxPendingBytes?: number;
  /** Likewise, how many messages (D78). 1 to 9007199254740991; default 100000. */
  readonly maxPendingMessages?: number;
  /**
   * How many bytes of dead letters the queue in memory keeps; past it the oldest are discarded. 0 to
   * 9007199254740991; default 16777216.
   */
  readonly maxDeadBytes?: number;
  /**
   * How many requests may be in flight to destinations that are untried or whose last request
   * succeeded (D75). 1 to 1000000; default 64.
   */
  readonly healthySlots?: number;
  /**
   * The same, to destinations whose last request failed (D75). 1 to 1000000; default 256.
   */
  readonly failingSlots?: number;
  /**
   * After how long an attempt without response headers moves to the failing slots, in ms (D75). 1 to
   * 2147483647; default 2000.
   */
  readonly lateHeadersMs?: number;
  /**
   * How long a claim is held, in ms; past it the messages may be sent by another process. Longer than
   * `deadlineMs`. 1 to 2147483647; default 60000, or three times `deadlineMs`, if
   * that is more.
   */
  readonly leaseMs?: number;
  /**
   * How often messages past their horizon are looked for, and those that nobody picked up, in ms. 1 to
   * 2147483647; default 60000.
   */
  readonly upkeepMs?: number;
  /**
   * After how long a message that is due and could be sent, and is not, is told of as `stalled`, in
   * ms. 1 to 2147483647; default 60000.
   */
  readonly stalledAfterMs?: number;
  /**
   * When the process has nothing else to do: how long to wait for what is pending, in ms; 0 does not
   * (D80). 0 to 2147483647; default 0.
   */
  readonly flushBeforeExitMs?: number;
  /**
   * How long one attempt may take in all, in ms (D76). Of it, connecting may take 5 s, and the
   * response headers must be there after 15 s, or 5 s before the end where that is later. 1 to
   * 2147483647; default 20000.
   */
  readonly deadlineMs?: number;
  /** Which addresses may be connected to (D77). Default `'public'`. */
  readonly network?: NetworkPolicy;
  /**
   * An undici dispatcher of your own, for a proxy say (D77). Needs `network: 'delegated'`. Default
   * connections of its own.
   */
  readonly dispatcher?: NonNullable<PosterOptions['dispatcher']>;
  /** Further headers; those of the contract cannot be changed (D35). Default none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The header User-Agent (D35). Default `security-event-delivery/<version>`. */
  readonly userAgent?: string;
}

/** One destination. */
export interface OneDestination {
  /** Absolute, http or https, without credentials; used as it is (D33). */
  readonly url: string;
  /** The key of the signature: its UTF-8 bytes, not empty (D32). */
  readonly secret: string;
  /**
   * Whose messages are taken; others are refused with `ERR_UNKNOWN_APPLICATION`. Name and environment
   * are told to receivers of format 1. Default any application's messages, all to this URL.
   */
  readonly application?: {
    /** Not empty. */
    readonly id: string;
    readonly name: string;
    readonly environment: string;
  };
  /** The format that the receiver reads; 1 is deprecated (D40). Default 2. */
  readonly format?: Format;
  /** For a receiver whose certificate Node does not trust, or that asks for one. Default none. */
  readonly tls?: ApplicationTls;
}

export interface ManyDestinations {
  /** Which applications there are: an object, or a function that is asked for one (D60). */
  readonly settings: SettingsSource;
}

export type WebhookSenderOptions<D extends Dialect = 'strict'> = (
  | OneDestination
  | ManyDestinations
) &
  DeliveryOptions<D>;
