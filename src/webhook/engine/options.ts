/** What `createWebhookSender` is given. */
import type { Dialect } from '../../contract/index.ts';
import type { Format, MessageQueue } from '../../queue/queue.ts';
import type { ApplicationTls } from '../../settings/schema.ts';
import type { SettingsSource } from '../../settings/source.ts';
import type { RetrySchedule } from '../retry.ts';
import type { NetworkPolicy } from '../wire/network-guard.ts';
import type { PosterOptions } from '../wire/post.ts';
import type { DeliveryPolicy } from './policy.ts';

/**
 * - `both`: accepts messages and delivers what waits in the queue.
 * - `enqueue`: accepts only; another process delivers. Needs neither URLs nor secrets.
 * - `deliver`: delivers only.
 */
export type SenderRole = 'both' | 'enqueue' | 'deliver';

type Policy = Omit<DeliveryPolicy, 'schedule'>;

/** Everything but where to send. */
export interface DeliveryOptions<D extends Dialect = 'strict'> extends Partial<Policy> {
  readonly queue?: MessageQueue;
  readonly role?: SenderRole;
  readonly dialect?: D;
  readonly v1Aliases?: boolean;
  readonly schedule?: Partial<RetrySchedule>;
  readonly lingerMs?: number;
  readonly maxPendingBytes?: number;
  readonly maxPendingMessages?: number;
  readonly maxDeadBytes?: number;
  readonly healthySlots?: number;
  readonly failingSlots?: number;
  readonly lateHeadersMs?: number;
  readonly leaseMs?: number;
  readonly upkeepMs?: number;
  readonly stalledAfterMs?: number;
  readonly flushBeforeExitMs?: number;
  readonly deadlineMs?: number;
  readonly network?: NetworkPolicy;
  readonly dispatcher?: NonNullable<PosterOptions['dispatcher']>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly userAgent?: string;
}

/** One application's destination. */
export interface OneDestination {
  /** Absolute, http or https, without credentials; used as it is (D33). */
  readonly url: string;
  /** The key of the signature: its UTF-8 bytes, not empty. */
  readonly secret: string;
  /** Whose messages are taken. Default: any application's; all go to this URL. */
  readonly application?: {
    readonly id: string;
    readonly name: string;
    readonly environment: string;
  };
  /** The format that the receiver reads. Default 2; 1 is deprecated. */
  readonly format?: Format;
  /** Certificates of its own, as `tls.connect` takes them. */
  readonly tls?: ApplicationTls;
}

export interface ManyDestinations {
  /** Which applications there are: an object, or a function that is asked for one. */
  readonly settings: SettingsSource;
}

export type WebhookSenderOptions<D extends Dialect = 'strict'> = (
  | OneDestination
  | ManyDestinations
) &
  DeliveryOptions<D>;
