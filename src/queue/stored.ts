/** Types of stored messages, dead letters, the ledger and exported rows: a part of the contract in queue.ts. */

/** The webhook format. 1 is deprecated; its messages are stored as they are sent. */
export type Format = 1 | 2;

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

/** An encoded message: all of its fields are plain data, so that any queue can store it. */
export interface StoredMessage {
  readonly messageId: string;
  readonly format: Format;
  /** UTF-8 JSON. Format 2 leaves out the values of `date_created` and `retry_count`. */
  readonly bytes: Buffer;
  /** Byte offset of the value of `date_created`, inside its quotes. 0 in format 1. */
  readonly dateAt: number;
  /** Byte offset of the value of `retry_count`, greater than `dateAt`. 0 in format 1. */
  readonly countAt: number;
}

/**
 * The health of a destination: `untried` until its first success or failure, then `healthy` or `failing`,
 * depending on its last request. Messages for a `closed` one are neither enqueued nor claimed.
 */
export type Health = 'untried' | 'healthy' | 'failing' | 'closed';

/** Why a message is not attempted again. */
export type DeadReason =
  /** The retry schedule is over, or the last status allows no more attempts. */
  | 'attempts-exhausted'
  /** The message is older than the horizon (the maximum age), or would be at its next attempt. */
  | 'horizon-passed'
  /** The receiver refused it with 413 although it was alone in its request. */
  | 'too-large'
  /** The receiver answered 410, which closed the application. */
  | 'destination-closed';

export interface DeadLetter {
  /** Identifies it in filters, and serves as the cursor of the next page. */
  readonly id: string;
  readonly applicationId: string;
  readonly stored: StoredMessage;
  readonly sizeBytes: number;
  readonly sends: number;
  readonly reason: DeadReason;
  /** How its last attempt ended; `null` if it was given up while it waited. */
  readonly lastAttempt: Json;
  /** Both in milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly diedAt: number;
}

export interface DeadLetterFilter {
  readonly applicationId?: string;
  readonly ids?: readonly string[];
}

export interface DeadLetterPage {
  readonly items: readonly DeadLetter[];
  /** The cursor of the next page. Absent on the last one. */
  readonly next?: string;
}

/** Why an accepted message is neither delivered nor a dead letter. */
export type DiscardReason =
  /** A call of `purge` removed a dead letter. */
  | 'purged'
  /** `close` of a memory queue returned it. */
  | 'returned'
  /** It was the oldest dead letter of a queue without room for more. */
  | 'evicted'
  /** Its stored form was damaged. */
  | 'damaged';

/** What became of the accepted messages: accepted = delivered + pending + dead + the sum of discarded. */
export interface Ledger {
  readonly accepted: number;
  readonly delivered: number;
  readonly pending: number;
  readonly dead: number;
  readonly discarded: Readonly<Partial<Record<DiscardReason, number>>>;
}

export interface QueueStats extends Ledger {
  /** Sum of `sizeBytes` of the pending messages. */
  readonly pendingBytes: number;
  /** Time since the longest-waiting claimable message became claimable; 0 if none is. */
  readonly oldestDueMs: number;
  readonly applications: ReadonlyMap<string, Ledger & { readonly health: Health }>;
}

export type ItemKind = 'application' | 'message' | 'dead_letter';

/**
 * A row of a queue as JSON, which can be written to a file and read again. Beside the fields below it has columns
 * of the SQLite queue, with times in milliseconds since the epoch and `body` in base64.
 */
export interface QueueItem {
  /** Identifies the queue that the item is from. */
  readonly source: string;
  readonly kind: ItemKind;
  /** Rises within the kind. */
  readonly id: number;
  readonly [column: string]: string | number | null;
}
