/** What became of messages: dead letters and counts. Part of the contract in queue.ts, which gives it on. */
import type { Json, Origin, StoredMessage, Tier } from './stored.ts';

/** Why a message's attempts are over. */
export type DeadReason =
  /** the schedule is over, or the attempts that its status allows (D71, D72) */
  | 'attempts-exhausted'
  /** the next attempt would be after the horizon (D71), or the message waited until it */
  | 'horizon-passed'
  /** alone in its request and refused with 413 (D73) */
  | 'too-large'
  /** 410 (D72), or closed by a call */
  | 'destination-closed';

/** Why an accepted message is neither delivered nor a dead letter. */
export type DiscardReason =
  /** a dead letter, by `purge` */
  | 'purged'
  /** handed back by `close` of a memory queue (D79) */
  | 'returned'
  /** the oldest dead letter of a queue whose room for them is over */
  | 'evicted'
  /** to another queue */
  | 'moved'
  /** what its queue had stored it in was damaged */
  | 'lost';

export interface DeadLetter {
  /** Names it in `replay` and `purge`, and is the cursor of the page behind it. */
  readonly id: string;
  readonly applicationId: string;
  readonly stored: StoredMessage;
  readonly origin: Origin;
  readonly sizeBytes: number;
  readonly sends: number;
  readonly reason: DeadReason;
  /** How its last attempt ended, as the engine told; `null` where there was none. */
  readonly end: Json;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly diedAt: number;
}

export interface DeadLetterFilter {
  readonly applicationId?: string;
  readonly ids?: readonly string[];
}

export interface DeadLetterPage {
  readonly items: readonly DeadLetter[];
  /** Where the next page begins; absent on the last one. */
  readonly next?: string;
}

/** accepted = delivered + pending + dead + discarded, summed over its reasons (D70). */
export interface Ledger {
  readonly accepted: number;
  readonly delivered: number;
  readonly pending: number;
  readonly dead: number;
  readonly discarded: Readonly<Partial<Record<DiscardReason, number>>>;
}

export interface QueueStats extends Ledger {
  /** Of what waits, as the bounds count them. */
  readonly pendingBytes: number;
  /** Of what waits and could be claimed: for how long the first could have been; 0 without any. */
  readonly oldestDueMs: number;
  readonly applications: ReadonlyMap<string, Ledger & { readonly tier: Tier }>;
}
