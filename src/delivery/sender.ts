/** The public face of the delivery engine: what a caller may ask of it. */
import type { Dialect } from '../contract/index.ts';
import { ownProperties } from '../own-properties.ts';
import type { DowngradeSkip } from '../projection/downgrade.ts';
import type {
  DeadLetter,
  DeadLetterFilter,
  DeadReason,
  Format,
  QueueStats,
  StoredMessage,
} from '../queue/queue.ts';
import type { RouteSkip } from '../settings/routing.ts';
import { encodeBody, formatTimestamp } from '../webhook/encoder.ts';
import type { FailureCode } from '../webhook/outcome.ts';
import type { MessageToSend } from '../webhook/read-messages.ts';
import type { DestinationFailure, SendReport } from './report.ts';
import type { FateCounts, FollowedMessage, WatchCounts } from './settled-messages.ts';
import type { InFlight } from './slots.ts';

/** Of one call: what its messages were detected by, and for which playbook (D60). */
export interface SendSelection {
  readonly module?: string | undefined;
  /** Its name or its slug. */
  readonly playbook?: string | undefined;
}

/** One message that was accepted, and is followed to its end; or that is not to be sent, and why. */
export type Taken =
  | { readonly isAccepted: true; readonly followed: FollowedMessage | undefined }
  | { readonly isAccepted: false; readonly reason: SkipReason };

/** What a call of `send` came to. */
export interface SendResult {
  /** Ids, in the order in which the messages were given; these are delivered at least once. */
  readonly accepted: readonly string[];
  /** Those that are not to be sent, and why (D60). */
  readonly skipped: readonly SkippedMessage[];
}

/**
 * Many messages as if each were sent alone, and followed to its end; known to this library alone. Another
 * copy of it finds this by its name, so that whoever changes what it means changes the name.
 */
export const SEND_EACH: unique symbol = Symbol.for('security-event-delivery.send-each');

/** A sender of this library's. */
export interface FollowingSender {
  /**
   * What became of each, in its place. The messages are promised: the call has begun all the same, for
   * whoever flushes or closes. Rejects where it has not: with `ERR_SENDER_CLOSED`.
   */
  [SEND_EACH](
    messages: Promise<readonly object[]>,
    selection?: SendSelection,
  ): Promise<readonly PromiseSettledResult<Taken>[]>;
}

interface WithFailures {
  /**
   * Why messages are dead, discarded or pending: the last failure of each destination whose last attempt failed, at
   * most 1000. Absent if there is none.
   */
  readonly failures?: readonly DestinationFailure[];
}

/** What became of the messages that a call of `flush` waited for, since the call. */
export interface FlushResult extends WatchCounts, WithFailures {}

/** What became of messages since the call, whoever accepted them. */
export interface CloseResult extends FateCounts, WithFailures {
  /** What a queue in memory handed back: these were not delivered (D79). */
  readonly returned: readonly KeptMessage[];
  /** How many messages stay in a durable queue; 0 where this sender had not opened it yet. */
  readonly left: number;
}

export interface SenderStats extends QueueStats {
  /** Requests that are being made, and those whose answer is late (D75). */
  readonly inFlight: InFlight;
  /** POSTs since the sender was made. */
  readonly attempts: number;
}

export interface DeadLetterList {
  readonly items: readonly DeadMessage[];
  /** To be given as `after`; absent on the last page. */
  readonly next?: string;
}

/** Which dead letters: all of them, an application's, or those of these ids. */
export type DeadLetterSelection = DeadLetterFilter;

export interface DeadLetterQuery extends DeadLetterSelection {
  /** 1 to 1000; default 100. */
  readonly limit?: number;
  readonly after?: string;
}

/**
 * Delivers messages at least once (D70), in the background. After `close` what would change the
 * queue rejects with `ERR_SENDER_CLOSED`, and `flush` has nothing to wait for; what the queue rejects with
 * (`ERR_QUEUE_FULL`, `ERR_QUEUE_FAILED`) is passed on. Options that are none are an
 * `ERR_INVALID_OPTION` of any call.
 */
export interface WebhookSender<D extends Dialect = 'strict'> extends AsyncDisposable {
  /**
   * Accepts messages: all of them, or it rejects and none. Once it has resolved they are delivered
   * as long as the queue's `durability` holds. Never waits for a receiver.
   *
   * Rejects with `ERR_INVALID_MESSAGE`, `ERR_MESSAGE_TOO_LARGE`, `ERR_UNKNOWN_APPLICATION`,
   * `ERR_INVALID_OPTION` (the selection, or an application of the settings), `ERR_SETTINGS_FAILED`,
   * `ERR_QUEUE_FULL`, `ERR_QUEUE_FAILED` or `ERR_SENDER_CLOSED`; `input` of the error holds the
   * messages.
   */
  send(messages: readonly MessageToSend<D>[], selection?: SendSelection): Promise<SendResult>;
  /**
   * Really sends a `test` message to an application, once and at once, past the queue. Rejects with
   * `ERR_UNKNOWN_APPLICATION` where there is no usable URL and secret for it.
   */
  sendTest(applicationId: string): Promise<SendReport>;
  /** What waits and what became of the rest, counted by the queue (D70). */
  stats(): Promise<SenderStats>;
  /** In pages, oldest first. */
  deadLetters(query?: DeadLetterQuery): Promise<DeadLetterList>;
  /** Sends dead letters again, under their ids; their `retry_count` goes on. Resolves to how many. */
  replay(selection?: DeadLetterSelection): Promise<number>;
  /** Discards dead letters for good. Resolves to how many. */
  purge(selection?: DeadLetterSelection): Promise<number>;
  /** Delivers again to a destination that has closed itself with 410 (D72). */
  reopen(applicationId: string): Promise<void>;
  /**
   * Waits until the messages that this sender accepted before the call, and those that were due when it
   * opened the queue, are settled: delivered, dead or discarded. This may take as long as the schedule.
   * `signal` and `deadlineMs` (0 to 2147483647; default none) end the wait, and `pending` counts what is
   * left. `settledElsewhere` counts what another process settled. Does not wait for replayed messages.
   * With `role: 'enqueue'` waits for the queue to take the messages, and counts nothing.
   */
  flush(options?: {
    readonly signal?: AbortSignal;
    readonly deadlineMs?: number;
  }): Promise<FlushResult>;
  /**
   * Accepts nothing more, delivers what can be delivered within `deadlineMs` (default 10000), ends
   * what is in flight, and closes the queue. Counts all that this sender settled since the call, also
   * messages that others accepted. Idempotent: the first call's report is everybody's. It rejects with `ERR_QUEUE_FAILED` where the queue does not answer for 30 s.
   */
  close(options?: { readonly deadlineMs?: number }): Promise<CloseResult>;
}

interface Kept {
  readonly applicationId: string;
  readonly stored: StoredMessage;
  readonly sends: number;
}

/** Its content is parsed when it is asked for, and does not show where the object is printed. */
export class KeptMessage {
  readonly applicationId: string;
  readonly message_id: string;
  readonly format: Format;
  /** How often it was sent. */
  readonly sends: number;
  readonly #stored: StoredMessage;

  constructor({ applicationId, stored, sends }: Kept) {
    this.applicationId = applicationId;
    this.message_id = stored.messageId;
    this.format = stored.format;
    this.sends = sends;
    this.#stored = stored;
  }

  /**
   * What was to be sent. In format 2 it can be given to `send` again:
   * `{ message_id, message_type, message }`. In format 1 it is the element.
   */
  get content(): Readonly<Record<string, unknown>> {
    const outgoing = { stored: this.#stored, sends: 0 };
    const body = encodeBody([outgoing], formatTimestamp(0)).toString();
    const [element] = JSON.parse(body) as [Readonly<Record<string, unknown>>];
    if (this.format === 1) return element;
    const { message_id, message_type, message } = element;
    return { message_id, message_type, message };
  }
}

type Ending = Pick<DeadMessage, 'status' | 'failure'>;

/** A message whose attempts are over, kept for `replay`. */
export class DeadMessage extends KeptMessage {
  /** Names it in `replay` and `purge`. */
  readonly id: string;
  readonly reason: DeadReason;
  /** How its last attempt ended; neither where there was none. */
  readonly status?: number;
  readonly failure?: FailureCode;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly diedAt: number;

  constructor(letter: DeadLetter) {
    super(letter);
    this.id = letter.id;
    this.reason = letter.reason;
    const { status, failure } = ownProperties(letter.lastAttempt as Ending);
    if (status !== undefined) this.status = status;
    if (failure !== undefined) this.failure = failure;
    this.acceptedAt = letter.acceptedAt;
    this.diedAt = letter.diedAt;
  }
}

export type SkipReason =
  | RouteSkip
  | DowngradeSkip
  /** the receiver has said 410 twice (D72), or a call has closed the destination */
  | 'destination-closed'
  /** the destination was open again, but then the queue failed; send it again */
  | 'queue-failed';

export interface SkippedMessage {
  /** Where it is among the messages given. */
  readonly index: number;
  readonly applicationId: string;
  readonly reason: SkipReason;
}
