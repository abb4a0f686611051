/**
 * The contract between the delivery engine and its queues. Types only.
 *
 * A queue stores accepted messages until each is delivered or becomes a dead letter. `enqueue` stores them,
 * `claim` takes messages for one request, and `settle` records the result of each. Compared with pg-boss,
 * River and Oban:
 *
 * | There | Here |
 * |---|---|
 * | job, queue or tenant | message, application (a destination: takes turns with the others, can be paused or closed) |
 * | fetch a batch of jobs | `claim` |
 * | complete, fail, discard | `settle` with `delivered`, `retry`, `dead` |
 * | attempts | `sends`: how often a message was claimed and not released; `retryCount`: its `sends` before this claim |
 * | rescuer of stuck jobs | lease: every call makes the messages of claims due again whose lease has expired |
 * | retention, cancel | `deadLetterOlderThan`, `deadLetterClosed` |
 *
 * Every queue obeys these laws, which one conformance suite tests:
 *
 * 1. **All or nothing.** `enqueue` stores all messages of a call or none. Once it resolves, they survive
 *    what `durability` names.
 * 2. **One claim per application.** A claim has due messages of one application and one format, oldest due
 *    first, and holds for `leaseMs` (its lease). It raises their `sends` durably, so that a crash counts as a
 *    send. `release` undoes that.
 * 3. **Settle once.** `settle` records one result for each message of a claim, and the application's
 *    state. A claim is lost when its lease expires: its messages are due again and keep their `sends`.
 *    Then `settle`, `release` and `extend` resolve to `'lost'` and change nothing.
 * 4. **Fairness.** Applications take turns: the backlog or the failures of one do not delay the others.
 *    Messages of one application are claimed by due time, then by sequence.
 * 5. **Dead letters** are kept, listed in pages, replayed and purged. A replayed message keeps its
 *    `messageId` and its `sends`.
 * 6. **Limits in bytes** count `sizeBytes`, the bytes of a message in a request body. A full queue rejects;
 *    it never drops a waiting message.
 * 7. **The ledger balances** whenever it is read: accepted = delivered + pending + dead + discarded.
 * 8. **`close` releases** the claims for which `settle` was not called. If `settle` was called and failed, the
 *    messages were sent: their claim keeps its lease.
 *
 * Two messages with the same `messageId` stay two messages; `sequence` tells them apart. Durations are
 * relative to the queue's own clock, so processes whose clocks disagree can share a queue.
 *
 * Each call claims or settles for one application. Calls for several would save nothing: a queue can run
 * simultaneous calls in one transaction, and in memory one call for 16 claims took as much CPU as 16 calls.
 */

import type {
  DeadLetterFilter,
  DeadLetterPage,
  DeadReason,
  Format,
  Health,
  ItemKind,
  Json,
  QueueItem,
  QueueStats,
  StoredMessage,
} from './stored.ts';

export type * from './stored.ts';

/**
 * What an accepted message survives. `memory`: nothing. `process-crash`: the end of its process. `power-loss`: also
 * a power loss. `server`: also a power loss of the database server. `replicated`: also the loss of its disk.
 */
export type Durability = 'memory' | 'process-crash' | 'power-loss' | 'server' | 'replicated';

/** A message to enqueue. */
export interface QueueEntry {
  readonly applicationId: string;
  readonly stored: StoredMessage;
  /** Bytes that the message takes in a request body, with its comma. All limits in bytes count these. */
  readonly sizeBytes: number;
}

export interface EnqueueResult {
  /**
   * The sequences of the stored messages, in the order of the entries. Entries of a closed application
   * have none.
   */
  readonly sequences: readonly number[];
  /** Closed applications among those of the entries. None of their messages was stored. */
  readonly closed: readonly string[];
}

/**
 * The delivery state of an application, written by `settle` and `release`. Writing the health `closed` closes
 * the application: its messages cannot be claimed, and `enqueue` stores none. Only `reopenApplication` opens it.
 */
export interface ApplicationState {
  readonly health: Health;
  /** Maximum number of messages in a claim. */
  readonly maxMessages: number;
  /** Maximum sum of their `sizeBytes`. A larger message is claimed alone. */
  readonly maxBytes: number;
  /** The engine's circuit breaker, as JSON; `null` before the first `settle`. No queue reads it. */
  readonly circuitBreaker: Json | null;
}

export interface ApplicationUpdate extends ApplicationState {
  /** Time from now for which nothing of the application may be claimed. */
  readonly pauseMs: number;
}

/** What a queue holds when it is opened. The numbers are of the same moment. */
export interface Backlog {
  /** Number of messages, due or not, claimed or not. */
  readonly pendingMessages: number;
  /** Number of those that are due or claimed. */
  readonly dueMessages: number;
  /** At least the highest sequence of these messages; 0 in a new queue. */
  readonly lastSequence: number;
}

export interface ClaimRequest {
  /** Only applications whose health is in this list can be claimed from. */
  readonly ofHealth: readonly Exclude<Health, 'closed'>[];
  /** Limits beside the application's own. A claim has at least one message. */
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly leaseMs: number;
}

export interface ClaimedMessage {
  /** Identifies the message in this queue while it waits. Rises with each acceptance and each replay. */
  readonly sequence: number;
  readonly stored: StoredMessage;
  /** How often it was sent before this claim: its `retry_count` in the request. */
  readonly retryCount: number;
  /** Time since it was accepted or replayed. */
  readonly ageMs: number;
  /** `retryState` of the last `retry` result; `null` before the first. */
  readonly retryState: Json | null;
}

/** Messages that were taken for one request. */
export interface Claim {
  /** Unique among claims. Identifies the claim in `settle`, `release` and `extend`. */
  readonly id: string;
  readonly applicationId: string;
  readonly format: Format;
  /** The state of the application at the time of the claim. */
  readonly state: ApplicationState;
  /** The queue's time in milliseconds. Use only differences, also between processes or across a restart. */
  readonly nowMs: number;
  /** Oldest due first. */
  readonly messages: readonly ClaimedMessage[];
}

export interface NothingDue {
  /** Time until a message can be claimed with this `ofHealth`, as far as the queue knows. Absent if none waits. */
  readonly dueInMs?: number;
}

/** The result of one message of a claim. */
export type MessageResult =
  | { readonly kind: 'delivered' }
  /** `lastAttempt`: how the last attempt ended, as JSON. No queue reads it. */
  | { readonly kind: 'dead'; readonly reason: DeadReason; readonly lastAttempt: Json }
  | {
      readonly kind: 'retry';
      /** 0 keeps the due time, so that the message is sent before those that became due later. */
      readonly afterMs: number;
      /** Maximum number of messages in a claim with this one. Absent: only the application's limit. */
      readonly maxMessages?: number | undefined;
      /** The engine's state of the message for its next claim, as JSON. No queue reads it. */
      readonly retryState: Json;
    };

/** A waiting message that became a dead letter: too old, or of a closed application. */
export interface DeadLetteredMessage {
  readonly applicationId: string;
  readonly messageId: string;
  readonly sequence: number;
}

/** Sequences `from` to `to`, both included. */
export interface SequenceRange {
  readonly from: number;
  readonly to: number;
}

/** A message that `close` of a memory queue returns. */
export interface ReturnedMessage {
  readonly applicationId: string;
  readonly sequence: number;
  readonly stored: StoredMessage;
  /** How often it was sent. */
  readonly sends: number;
}

export interface QueueClosing {
  /** The messages of a memory queue; empty for a durable queue. */
  readonly returned: readonly ReturnedMessage[];
  /** Number of messages that stay in a durable queue. */
  readonly remaining: number;
}

/**
 * A queue of messages. Every call must resolve or reject, even if its store does not answer: the engine makes
 * several claims at once, and waits for all of them. All methods reject with a SecurityEventError:
 *
 * - `ERR_QUEUE_CLOSED` before `open` and after `close`;
 * - `ERR_QUEUE_FAILED`, with its `cause`, when the store fails; also when `settle` gets another number of
 *   results than the claim has messages;
 * - `ERR_PEER_MISSING` and `ERR_QUEUE_FOREIGN` from `open`: the store's library is not installed, or the file
 *   belongs to another program;
 * - `ERR_QUEUE_FULL` from `enqueue`; `path` names the limit;
 * - `ERR_MESSAGE_TOO_LARGE` from `enqueue`: the application's id is longer than the store allows; `path` is
 *   the index of the entry;
 * - `ERR_INVALID_OPTION` from `listDeadLetters`: `after` is no cursor.
 */
export interface MessageQueue {
  readonly durability: Durability;
  /** Opens the store. `initialState` is the state of an application before its first `settle`. */
  open(initialState: ApplicationState): Promise<Backlog>;
  /**
   * Stores the entries. They are due after `delayMs` (default 0), or once enough messages of the
   * application wait to fill a claim. The caller may change the array and its entries after the call
   * has resolved.
   */
  enqueue(entries: readonly QueueEntry[], delayMs?: number): Promise<EnqueueResult>;
  /** Takes due messages of the application whose turn it is, for one request. */
  claim(request: ClaimRequest): Promise<Claim | NothingDue>;
  /** Ends a claim with one result for each message, in the claim's order. */
  settle(
    claim: Claim,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<'settled' | 'lost'>;
  /** Ends a claim whose messages were not sent. They are due as before. Writes `state` if given. */
  release(claim: Claim, state?: ApplicationUpdate): Promise<'released' | 'lost'>;
  /** Extends the lease to `leaseMs` from now. */
  extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'>;
  /**
   * Makes at most `maxMessages` unclaimed messages that were accepted more than `olderThanMs` ago dead
   * letters (`horizon-passed`). Returns them.
   */
  deadLetterOlderThan(
    olderThanMs: number,
    maxMessages: number,
  ): Promise<readonly DeadLetteredMessage[]>;
  /**
   * Counts the messages in the ranges that are not settled yet, so that a sender learns that another process has
   * settled its messages. Ranges ascend and do not overlap.
   */
  countPending(ranges: readonly SequenceRange[]): Promise<number>;
  /** Returns the state of an application; `undefined` before anything was enqueued for it. */
  applicationState(applicationId: string): Promise<ApplicationState | undefined>;
  /**
   * Makes at most `maxMessages` unclaimed messages of a closed application dead letters
   * (`destination-closed`). Returns them; none if the application is not closed.
   */
  deadLetterClosed(
    applicationId: string,
    maxMessages: number,
  ): Promise<readonly DeadLetteredMessage[]>;
  /**
   * Resets an application that is not healthy to its initial state, except its `circuitBreaker`: its messages
   * can be claimed again.
   */
  reopenApplication(applicationId: string): Promise<void>;
  /** Lists dead letters, oldest first: at most `limit`, after the cursor `after`. */
  listDeadLetters(
    page: DeadLetterFilter & { readonly limit: number; readonly after?: string | undefined },
  ): Promise<DeadLetterPage>;
  /**
   * Makes dead letters due again, with a new sequence, a new age and no retry state. Those of a closed
   * application, and those that a bounded queue has no room for, stay. Returns the number replayed.
   */
  replayDeadLetters(filter: DeadLetterFilter): Promise<number>;
  /** Discards dead letters. Returns the number purged. */
  purgeDeadLetters(filter: DeadLetterFilter): Promise<number>;
  /** Counts the accepted messages by their present state. */
  stats(): Promise<QueueStats>;
  /**
   * Calls `listener` when a message may be due earlier than `claim` said: after an enqueue, a replay, a
   * settle, a release or a reopening, also by another process. Returns a function that unsubscribes.
   * The listener must not throw.
   */
  onDue(listener: () => void): () => void;
  /** Closes the queue. Later calls reject with `ERR_QUEUE_CLOSED`, except `stats` of a memory queue. */
  close(): Promise<QueueClosing>;
}

/** A queue that survives its process. `exportQueue` and `importQueue` move what it holds. */
export interface DurableQueue extends MessageQueue {
  /**
   * Reads items of the kind after an id, in ascending order. Returns none after the last one. Rejects
   * with `ERR_QUEUE_FAILED` while messages are claimed.
   */
  exportItems(kind: ItemKind, after: number): Promise<readonly QueueItem[]>;
  /**
   * Stores items of one source and kind, all or none, and remembers the last id. Ignores ids up to the
   * one that it remembers. Resolves to the number of items stored; to `undefined` if they are its own.
   */
  importItems(items: readonly QueueItem[]): Promise<number | undefined>;
}
