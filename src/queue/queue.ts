/**
 * Where accepted messages wait: the contract between the delivery engine and its queues. Types only.
 *
 * The laws, which every queue keeps and one suite tests:
 *
 * 1. `enqueue` is all or nothing for the whole call. Once it has resolved, the messages survive what
 *    `durability` declares, and no more is promised.
 * 2. A claim holds due messages of ONE application and ONE format, what has been due longest first,
 *    and an application has at most one live claim. One claim is one POST: `sends` is raised durably
 *    by the claim itself, naming its messages, so that a crash counts as a sending (D24); `release`
 *    undoes it.
 * 3. Settling is one call with a verdict per message, and writes the application's row. It answers
 *    `'lost'` and changes nothing where the lease was over. An expired lease makes the messages due
 *    again, with their `sends`.
 * 4. What is due is found by application, and within it by (due, sequence), where the sequence is that
 *    of acceptance or replay. Applications take turns: one's backlog or failures cost the others nothing.
 * 5. Dead letters are kept, listed in pages, replayed (same message_id, `sends` goes on counting) and
 *    purged.
 * 6. Bounds are real bytes. A full queue rejects, it never drops.
 * 7. `stats` counts what waits from the queue's own content, so that
 *    accepted = delivered + pending + dead + discarded holds whenever it is read (D70).
 * 8. `close` ends claims: what was claimed and not settled is due again and was not sent.
 *
 * 9. What moves to another queue loses nothing: an early claim gives also what is not due yet, `past`
 *    brings sendings, age and wait along, and what is there is `'moved'` here.
 *
 * Time is the queue's own: waits are told as milliseconds from now, never as times of day, so that
 * processes whose clocks disagree share a queue (a server queue uses the server's clock).
 */
import type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  DeadReason,
  QueueStats,
} from './ledger.ts';
import type { Format, Json, Origin, StoredMessage, Tier } from './stored.ts';

export type * from './ledger.ts';
export type * from './stored.ts';

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
