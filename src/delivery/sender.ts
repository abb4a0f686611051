/** The public types of a sender, and the classes of the messages that it returns. */
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
import type { DestinationFailure, LastAttempt, SendReport } from './report.ts';
import type { FollowedMessage, SettledCounts, WatchCounts } from './settled-messages.ts';
import type { InFlight } from './slots.ts';

/** Used for routing: the module that detected the events of a call, and the playbook of its messages (D60). */
export interface SendSelection {
  readonly module?: string | undefined;
  /** Its name or its slug. */
  readonly playbook?: string | undefined;
}

/** An accepted message, which only this library's senders follow; or one that is not sent, and why. */
export type SingleSendResult =
  | { readonly isAccepted: true; readonly followed: FollowedMessage | undefined }
  | { readonly isAccepted: false; readonly reason: SkipReason };

/** The result of a call of `send`. */
export interface SendResult {
  /** Ids of the accepted messages, in the order of the call. They are delivered at least once. */
  readonly accepted: readonly string[];
  /** Messages that are not sent, and why (D60). */
  readonly skipped: readonly SkippedMessage[];
}

/**
 * Name of an internal method, which sends many messages as if each were sent alone, and follows each until it is
 * settled. Another copy of this library finds the method by this name, so change it with its meaning.
 */
export const SEND_EACH: unique symbol = Symbol.for('security-event-delivery.send-each');

/** A sender with the method that only the reporter calls. */
export interface InternalSender {
  /**
   * Resolves to a result for each message, in order. `flush` and `close` wait for the call from its beginning, even
   * while the messages are only promised. Rejects with `ERR_SENDER_CLOSED`.
   */
  [SEND_EACH](
    messages: Promise<readonly object[]>,
    selection?: SendSelection,
  ): Promise<readonly PromiseSettledResult<SingleSendResult>[]>;
}

interface WithFailures {
  /**
   * Why messages are dead, discarded or pending: the last failure of each failing destination, at most 1000, and
   * requests without a response in time. Absent without failures.
   */
  readonly failures?: readonly DestinationFailure[];
}

/** Counts of the messages that a call of `flush` waited for. */
export interface FlushResult extends WatchCounts, WithFailures {}

/**
 * Counts of the messages that this sender settled since it was made, including those that other senders accepted (D83).
 * `discarded` includes `returned`.
 */
export interface CloseResult extends SettledCounts, WithFailures {
  /** Messages that were not delivered, from a queue in memory (D79). */
  readonly returned: readonly QueuedMessage[];
  /** Number of messages that stay in a durable queue; 0 if this sender did not use it. */
  readonly remaining: number;
}

export interface SenderStats extends QueueStats {
  /** Requests in flight: active ones, and those whose response is late (D75). */
  readonly inFlight: InFlight;
  /** Attempts to deliver queued messages since the sender was made. */
  readonly attempts: number;
}

export interface DeadLetterList {
  readonly items: readonly DeadMessage[];
  /** The `after` of the next page; absent on the last one. */
  readonly next?: string;
}

/** Selects dead letters: all, those of an application, or those with these ids. */
export type DeadLetterSelection = DeadLetterFilter;

export interface DeadLetterQuery extends DeadLetterSelection {
  /** 1 to 1000; default 100. */
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

export interface CloseOptions {
  readonly deadlineMs?: number | undefined;
}

export interface FlushOptions extends CloseOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Delivers messages at least once (D70), in the background. After `close`, methods that change the queue reject with
 * `ERR_SENDER_CLOSED`, and `flush` resolves when `close` has ended. Any method may reject with the queue's error
 * (`ERR_QUEUE_FULL`, `ERR_QUEUE_FAILED`), and with `ERR_INVALID_OPTION` for bad arguments.
 */
export interface WebhookSender<D extends Dialect = 'strict'> extends AsyncDisposable {
  /**
   * Accepts all messages, or rejects and accepts none. Accepted messages survive the failures that the queue's
   * `durability` lists. Never waits for a receiver.
   *
   * Rejects with `ERR_INVALID_MESSAGE`, `ERR_MESSAGE_TOO_LARGE`, `ERR_UNKNOWN_APPLICATION`,
   * `ERR_INVALID_OPTION` (the selection, or an application of the settings), `ERR_SETTINGS_FAILED`,
   * `ERR_QUEUE_FULL`, `ERR_QUEUE_FAILED` or `ERR_SENDER_CLOSED`; `input` of the error holds the
   * messages.
   */
  send(messages: readonly MessageToSend<D>[], selection?: SendSelection): Promise<SendResult>;
  /**
   * Sends a `test` message to an application at once, without the queue and without retries. Rejects with
   * `ERR_UNKNOWN_APPLICATION` if it has no usable URL and secret.
   */
  sendTest(applicationId: string): Promise<SendReport>;
  /** Resolves to the queue's counts of pending and settled messages (D70), and to the requests in flight. */
  stats(): Promise<SenderStats>;
  /** Lists dead letters in pages, oldest first. */
  deadLetters(query?: DeadLetterQuery): Promise<DeadLetterList>;
  /** Sends dead letters again, with their ids; their `retry_count` keeps rising. Resolves to their number. */
  replay(selection?: DeadLetterSelection): Promise<number>;
  /** Deletes dead letters. Resolves to their number. */
  purge(selection?: DeadLetterSelection): Promise<number>;
  /**
   * Delivers again to a destination that was closed by 410 (D72), and ends the pause of a failing one. A healthy
   * destination stays as it is.
   */
  reopen(applicationId: string): Promise<void>;
  /**
   * Waits until messages are delivered, dead or discarded: those that this sender accepted before the call, and those
   * that were due when it opened the queue, but not replayed ones. This may take as long as the schedule.
   *
   * `signal` and `deadlineMs` (0 to 2147483647; default none) end the wait. `pending` then counts the messages that are
   * left. It includes those of earlier `send` calls that are in progress, but not those of a queue that is not open yet.
   * `settledElsewhere` counts the messages that another process settled. Rejects with the error of a queue that could not
   * be opened. With `role: 'enqueue'` it waits until the queue has stored the messages, and counts nothing.
   */
  flush(options?: FlushOptions): Promise<FlushResult>;
  /**
   * Stops accepting, delivers what is due within `deadlineMs` (0 to 2147483647; default 10000), aborts requests that are
   * still in flight, and closes the queue. All calls return the promise of the first one. Rejects with
   * the error of a queue that could not be opened, or with `ERR_QUEUE_FAILED` if it does not answer for 30 s.
   */
  close(options?: CloseOptions): Promise<CloseResult>;
}

/** A message from the queue that was not delivered. Parses its content on access, and does not print it. */
export class QueuedMessage {
  readonly applicationId: string;
  readonly message_id: string;
  readonly format: Format;
  /** Number of times it was sent. */
  readonly sends: number;
  readonly #stored: StoredMessage;

  constructor({
    applicationId,
    stored,
    sends,
  }: Pick<DeadLetter, 'applicationId' | 'stored' | 'sends'>) {
    this.applicationId = applicationId;
    this.message_id = stored.messageId;
    this.format = stored.format;
    this.sends = sends;
    this.#stored = stored;
  }

  /**
   * Returns the message. In format 2 you can pass it to `send`: `{ message_id, message_type, message }`. In format 1 it is
   * the element of the request.
   */
  get content(): Readonly<Record<string, unknown>> {
    const outgoing = { stored: this.#stored, retryCount: 0 };
    const body = encodeBody([outgoing], formatTimestamp(0)).toString();
    const [element] = JSON.parse(body) as [Readonly<Record<string, unknown>>];
    if (this.format === 1) return element;
    const { message_id, message_type, message } = element;
    return { message_id, message_type, message };
  }
}

/** A message whose attempts are over, kept for `replay`. */
export class DeadMessage extends QueuedMessage {
  /** Identifies it in `replay` and `purge`. */
  readonly id: string;
  readonly reason: DeadReason;
  /** Status of the last attempt; absent without a response. */
  declare readonly status?: number;
  /** Why the last attempt got no response; absent if it got one, or if there was no attempt. */
  declare readonly failure?: FailureCode;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  /** When it became a dead letter, in milliseconds since the epoch. */
  readonly diedAt: number;

  constructor(letter: DeadLetter) {
    super(letter);
    this.id = letter.id;
    this.reason = letter.reason;
    const { status, failure } = ownProperties(letter.lastAttempt as LastAttempt);
    if (status !== undefined) this.status = status;
    if (failure !== undefined) this.failure = failure;
    this.acceptedAt = letter.acceptedAt;
    this.diedAt = letter.diedAt;
  }
}

export type SkipReason =
  | RouteSkip
  | DowngradeSkip
  /** the destination closed after 410 (D72) */
  | 'destination-closed'
  /** the destination was reopened, but the queue is full: send the message again later */
  | 'queue-full'
  /** the destination was reopened, but then the queue failed; the message may be stored: send it again with its id */
  | 'queue-failed';

export interface SkippedMessage {
  /** Index of the message in the call. */
  readonly index: number;
  readonly applicationId: string;
  readonly reason: SkipReason;
}
