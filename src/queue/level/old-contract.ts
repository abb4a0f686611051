/** The contract of before, on which the queue in a folder still stands. It goes with that queue. */

export type Format = 1 | 2;

export interface StoredMessage {
  readonly messageId: string;
  readonly format: Format;
  readonly bytes: Buffer;
  readonly dateAt: number;
  readonly countAt: number;
}

export interface Origin {
  readonly senderId: string;
  readonly number: number;
}

export type Tier = 'healthy' | 'failing' | 'closed';

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

export type DeadReason =
  | 'attempts-exhausted'
  | 'horizon-passed'
  | 'too-large'
  | 'destination-closed';

export type DiscardReason = 'purged' | 'returned' | 'evicted' | 'moved' | 'lost';

export interface DeadLetter {
  readonly id: string;
  readonly applicationId: string;
  readonly stored: StoredMessage;
  readonly origin: Origin;
  readonly sizeBytes: number;
  readonly sends: number;
  readonly reason: DeadReason;
  readonly end: Json;
  readonly acceptedAt: number;
  readonly diedAt: number;
}

export interface DeadLetterFilter {
  readonly applicationId?: string;
  readonly ids?: readonly string[];
}

export interface DeadLetterPage {
  readonly items: readonly DeadLetter[];
  readonly next?: string;
}

export interface Ledger {
  readonly accepted: number;
  readonly delivered: number;
  readonly pending: number;
  readonly dead: number;
  readonly discarded: Readonly<Partial<Record<DiscardReason, number>>>;
}

export interface QueueStats extends Ledger {
  readonly pendingBytes: number;
  readonly oldestDueMs: number;
  readonly applications: ReadonlyMap<string, Ledger & { readonly tier: Tier }>;
}
export type Durability = 'memory' | 'process-crash' | 'power-loss' | 'server' | 'replicated';

export interface QueueEntry {
  readonly applicationId: string;
  readonly stored: StoredMessage;
  readonly sizeBytes: number;
  readonly origin: Origin;
  readonly past?: Past;
}

export interface Past {
  readonly sends: number;
  readonly ageMs: number;
  readonly dueInMs: number;
  readonly maxMessages?: number;
  readonly progress: Json | null;
  readonly death?: Pick<DeadLetter, 'reason' | 'end'> & { readonly diedAt?: number };
}

export interface ApplicationRow {
  readonly tier: Tier;
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly lane: Json | null;
}

export interface RowUpdate extends ApplicationRow {
  readonly waitMs: number;
}

export interface ClaimRequest {
  readonly tiers: readonly Exclude<Tier, 'closed'>[];
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly leaseMs: number;
  readonly early?: true;
}

export interface ClaimedMessage {
  readonly stored: StoredMessage;
  readonly origin: Origin;
  readonly sends: number;
  readonly ageMs: number;
  readonly progress: Json | null;
  readonly moving?: { readonly sizeBytes: number } & Pick<Past, 'dueInMs' | 'maxMessages'>;
}

export interface Claim {
  readonly id: string;
  readonly applicationId: string;
  readonly format: Format;
  readonly row: ApplicationRow;
  readonly now: number;
  readonly messages: readonly ClaimedMessage[];
}

export interface Nothing {
  readonly dueInMs?: number;
}

export type Verdict =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'dead'; readonly reason: DeadReason; readonly end: Json }
  | {
      readonly kind: 'again';
      readonly afterMs: number;
      readonly maxMessages?: number;
      readonly progress: Json;
    };

export interface Moved {
  readonly kind: 'moved';
}

export interface Enqueued {
  readonly closed: readonly string[];
}

export interface ReturnedMessage {
  readonly applicationId: string;
  readonly stored: StoredMessage;
  readonly origin: Origin;
  readonly sends: number;
}

export interface QueueClosing {
  readonly returned: readonly ReturnedMessage[];
  readonly left: number;
}

export interface MessageQueue {
  readonly durability: Durability;
  open(initialRow: ApplicationRow, lingerMs?: number): Promise<void>;
  enqueue(entries: readonly QueueEntry[]): Promise<Enqueued>;
  claim(request: ClaimRequest): Promise<Claim | Nothing>;
  settle(
    claim: Claim,
    verdicts: readonly (Verdict | Moved)[],
    row: RowUpdate,
  ): Promise<'settled' | 'lost'>;
  release(claim: Claim, row?: RowUpdate): Promise<'released' | 'lost'>;
  extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'>;
  expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]>;
  application(applicationId: string): Promise<ApplicationRow | undefined>;
  closeApplication(applicationId: string, maxMessages: number): Promise<readonly ExpiredMessage[]>;
  reopen(applicationId: string): Promise<void>;
  deadLetters(
    page: DeadLetterFilter & { readonly limit: number; readonly after?: string },
  ): Promise<DeadLetterPage>;
  replay(filter: DeadLetterFilter): Promise<number>;
  purge(filter: DeadLetterFilter, as?: 'purged' | 'moved'): Promise<number>;
  stats(): Promise<QueueStats>;
  onDue(listener: () => void): () => void;
  close(): Promise<QueueClosing>;
}

export interface ExpiredMessage {
  readonly applicationId: string;
  readonly messageId: string;
  readonly origin: Origin;
}
