/** The contract of before, on which the queue in a folder still stands. It goes with that queue. */

/** 1 is deprecated; its elements have no slots (D45). */
export type Format = 1 | 2;

/** A message as it waits to be sent: plain data in fields of its own, whatever its class, so that any queue can keep it. */
export interface StoredMessage {
  readonly messageId: string;
  readonly format: Format;
  /** UTF-8 JSON; in format 2 the values of `date_created` and `retry_count` are left out. */
  readonly bytes: Buffer;
  /** Where `date_created` belongs, within its quotes; 0 in format 1. */
  readonly dateAt: number;
  /** Where `retry_count` belongs, behind `dateAt`; 0 in format 1. */
  readonly countAt: number;
}

export interface Origin {
  /** One string a sender, shared by all of its entries; empty, and the number 0, after a replay. */
  readonly senderId: string;
  readonly number: number;
}

/**
 * Which slots serve a destination (D75): `healthy` are those that are untried or whose last request
 * succeeded. A closed destination is not claimed, and nothing is enqueued for it (D72).
 */
export type Tier = 'healthy' | 'failing' | 'closed';

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

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
/** What an enqueued message survives. */
export type Durability = 'memory' | 'process-crash' | 'power-loss' | 'server' | 'replicated';

/** A message on its way into the queue. It and what it holds may be of any class: their own fields are what is told. */
export interface QueueEntry {
  readonly applicationId: string;
  readonly stored: StoredMessage;
  /** What bounds and claims count for it: its element of a request, slots and comma included. */
  readonly sizeBytes: number;
  /** Which sender accepted it, and as its how manieth message. */
  readonly origin: Origin;
  /** Of a message that comes from another queue; absent: it is new. */
  readonly past?: Past;
}

/** What became of a message in the queue that it comes from. */
export interface Past {
  /** How often it was sent; goes on counting (D24). */
  readonly sends: number;
  /** Since it was accepted there; of a dead letter: until it died. */
  readonly ageMs: number;
  /** Until it is due. */
  readonly dueInMs: number;
  /** As its last verdict said: absent where there was no limit. */
  readonly maxMessages?: number;
  readonly progress: Json | null;
  /** It is a dead letter, and is stored as one also for a closed application; `diedAt` absent: now. */
  readonly death?: Pick<DeadLetter, 'reason' | 'end'> & { readonly diedAt?: number };
}

/** What may be claimed of an application, and its lane. Written by settling and by `release`. */
export interface ApplicationRow {
  readonly tier: Tier;
  /** Largest number of messages in a claim. */
  readonly maxMessages: number;
  /** Largest sum of their `sizeBytes`; a larger message goes alone. */
  readonly maxBytes: number;
  /** The engine's own, as JSON; `null` before anything was settled. No queue reads it. */
  readonly lane: Json | null;
}

/** The row, and for how long nothing of the application may be claimed. */
export interface RowUpdate extends ApplicationRow {
  readonly waitMs: number;
}

export interface ClaimRequest {
  readonly tiers: readonly Exclude<Tier, 'closed'>[];
  /** Upper bounds beside the application's own; at least one message is always claimed. */
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly leaseMs: number;
  /**
   * For moving: due or not, of any application that is not claimed, whatever its tier and however
   * long it is to be left alone; within the bounds of the request, not those of its row.
   */
  readonly early?: true;
}

/** A message in a claim. */
export interface ClaimedMessage {
  readonly stored: StoredMessage;
  readonly origin: Origin;
  /** How often it was sent before this claim: its `retry_count` (D24). */
  readonly sends: number;
  /** How long ago it was accepted. */
  readonly ageMs: number;
  /** What the last verdict left; `null` before the first. */
  readonly progress: Json | null;
  /** In an early claim: what else the other queue has to know. */
  readonly moving?: { readonly sizeBytes: number } & Pick<Past, 'dueInMs' | 'maxMessages'>;
}

export interface Claim {
  /** Unique among claims; names the claim in `settle`, `release` and `extend`. */
  readonly id: string;
  readonly applicationId: string;
  readonly format: Format;
  /** As it was when claimed. */
  readonly row: ApplicationRow;
  /**
   * The queue's time, in ms; only differences mean something, but they do between processes and
   * restarts. For times within `lane`.
   */
  readonly now: number;
  /** In the order in which they have been due. */
  readonly messages: readonly ClaimedMessage[];
}

/** Nothing of these tiers is due. */
export interface Nothing {
  /** When something of them will be, as far as is known; absent where nothing waits. */
  readonly dueInMs?: number;
}

export type Verdict =
  | { readonly kind: 'delivered' }
  /** To the dead letters. */
  | { readonly kind: 'dead'; readonly reason: DeadReason; readonly end: Json }
  | {
      readonly kind: 'again';
      /** 0: due since when it was due before, so that it goes before what came due later. */
      readonly afterMs: number;
      /** The largest claim it may be part of, itself included; absent: no limit of its own. */
      readonly maxMessages?: number;
      /** The engine's own, as JSON. No queue reads it. */
      readonly progress: Json;
    };

/** The verdict on a message that another queue has now. */
export interface Moved {
  readonly kind: 'moved';
}

/** What `enqueue` did: nothing was stored for these applications, since they are closed (D72). */
export interface Enqueued {
  readonly closed: readonly string[];
}

/** A message handed back by `close` (D79). */
export interface ReturnedMessage {
  readonly applicationId: string;
  readonly stored: StoredMessage;
  readonly origin: Origin;
  readonly sends: number;
}

export interface QueueClosing {
  /** What a queue that ends with the process hands back; empty for a durable one. */
  readonly returned: readonly ReturnedMessage[];
  /** How many messages stay in a durable queue. */
  readonly left: number;
}

/**
 * A queue of messages. Methods reject with a SecurityEventError: `ERR_QUEUE_FULL` (`enqueue`),
 * `ERR_MESSAGE_TOO_LARGE` (`enqueue`, where the id of an application is longer than the store takes; `path` is
 * the entry's index, and nothing was stored), `ERR_QUEUE_CLOSED` after `close`, `ERR_QUEUE_FAILED` where the
 * store failed, with its `cause`.
 */
export interface MessageQueue {
  readonly durability: Durability;
  /**
   * Which row an application has before anything was settled for it, and for how long one waits for
   * company (default 0): it is claimed once its first message has been due for `lingerMs`, or as
   * many wait as a claim may have. Called before all else.
   */
  open(initialRow: ApplicationRow, lingerMs?: number): Promise<void>;
  /**
   * The array and its entries are the caller's, who may change them once the call is over: a queue keeps what is
   * told of an entry here, and nothing else that it may hold.
   */
  enqueue(entries: readonly QueueEntry[]): Promise<Enqueued>;
  claim(request: ClaimRequest): Promise<Claim | Nothing>;
  /** One verdict a message, in the claim's order. A second call with the same claim is `'lost'`. */
  settle(
    claim: Claim,
    verdicts: readonly (Verdict | Moved)[],
    row: RowUpdate,
  ): Promise<'settled' | 'lost'>;
  /** The messages are due as they were and were not sent; with `row`, the application's is written. */
  release(claim: Claim, row?: RowUpdate): Promise<'released' | 'lost'>;
  /** The lease ends `leaseMs` from now. */
  extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'>;
  /**
   * Makes dead letters (`horizon-passed`) of at most `maxMessages` messages that were accepted more
   * than `olderThanMs` ago and are not claimed. Resolves to them, without their bytes.
   */
  expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]>;
  /** The row of an application; `undefined` while nothing was enqueued for it. */
  application(applicationId: string): Promise<ApplicationRow | undefined>;
  /**
   * Nothing more is enqueued or claimed for it, and at most `maxMessages` of what waits become dead
   * letters (`destination-closed`). Resolves to those; call again until there are none: what an
   * `enqueue` under way brings in is among them, or that call tells that it came too late. A live
   * claim may still be settled or released: what it brings back waits for the next call, and its row
   * leaves the application closed.
   */
  closeApplication(applicationId: string, maxMessages: number): Promise<readonly ExpiredMessage[]>;
  /** Its row is the initial one again: what is enqueued from now on is delivered. */
  reopen(applicationId: string): Promise<void>;
  /** Oldest first, at most `limit`, beginning behind `after`. */
  deadLetters(
    page: DeadLetterFilter & { readonly limit: number; readonly after?: string },
  ): Promise<DeadLetterPage>;
  /**
   * Due at once, with no progress, a new age and no origin (its sender was told of its end); for a
   * closed application it stays a dead letter, and so does what a bounded queue has no room for.
   * Resolves to how many were replayed.
   */
  replay(filter: DeadLetterFilter): Promise<number>;
  /** Discards them, as `purged` where nothing else is said. Resolves to how many. */
  purge(filter: DeadLetterFilter, as?: 'purged' | 'moved'): Promise<number>;
  stats(): Promise<QueueStats>;
  /**
   * Calls `listener` when something may be due earlier than a `claim` has said: after an enqueue, a
   * replay, a settling, a release or a reopening, here or (where the store can tell) in another
   * process. It must not throw. The function handed back takes it off.
   */
  onDue(listener: () => void): () => void;
  close(): Promise<QueueClosing>;
}

/** A message that became a dead letter without an attempt. */
export interface ExpiredMessage {
  readonly applicationId: string;
  readonly messageId: string;
  readonly origin: Origin;
}
