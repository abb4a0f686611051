/**
 * What the main thread and the worker say to each other. Messages travel as tuples, and the bytes of
 * all messages of one post in a single transferred buffer.
 */

import type { IncidentNews, IncidentReport } from '../../incident/incident-store.ts';
import type {
  ApplicationItem,
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterItem,
  DeadReason,
  ExpiredMessage,
  Format,
  MessageItem,
  SequenceRange,
  StoredMessage,
  Tier,
} from '../queue.ts';

/** Two copies of the package share a worker only if they agree on this number. */
export const PROTOCOL_VERSION = 1;

export interface Bounds {
  readonly maxPendingBytes: number;
  readonly maxPendingMessages: number;
}

/** An application's state as it is stored: its circuit breaker as JSON text. */
export type StateTuple = readonly [
  tier: Tier,
  maxMessages: number,
  maxBytes: number,
  circuitBreaker: string,
];

export interface StateUpdate {
  readonly state: StateTuple;
  readonly pauseMs: number;
}

export type EntryTuple = readonly [
  applicationId: string,
  messageId: string,
  format: Format,
  length: number,
  dateAt: number,
  countAt: number,
  sizeBytes: number,
];

export type ClaimedTuple = readonly [
  sequence: number,
  messageId: string,
  length: number,
  dateAt: number,
  countAt: number,
  sends: number,
  ageMs: number,
  progress: string | null,
];

export interface ClaimAnswer {
  readonly id: string;
  readonly applicationId: string;
  readonly format: Format;
  readonly state: StateTuple;
  readonly nowMs: number;
  readonly messages: readonly ClaimedTuple[];
}

export type ResultTuple =
  | readonly ['delivered']
  | readonly ['dead', reason: DeadReason, lastAttempt: string]
  | readonly ['retry', afterMs: number, maxMessages: number | null, progress: string];

export type DeadTuple = readonly [
  id: number,
  applicationId: string,
  messageId: string,
  format: Format,
  length: number,
  dateAt: number,
  countAt: number,
  sizeBytes: number,
  sends: number,
  reason: DeadReason,
  lastAttempt: string,
  acceptedAt: number,
  diedAt: number,
];

export type LedgerTuple = readonly [
  applicationId: string,
  tier: Tier,
  accepted: number,
  delivered: number,
  pending: number,
  dead: number,
  purged: number,
  evicted: number,
  lost: number,
];

/** One page of a replay or a purge. */
export interface PageRequest {
  readonly filter: DeadLetterFilter;
  readonly after: number;
  /** The last id of the whole call; absent on its first page. */
  readonly upTo?: number;
}

export interface PageAnswer {
  readonly count: number;
  readonly upTo: number;
  /** Where the next page begins; absent after the last one. */
  readonly after?: number;
}

export interface IncidentLimits {
  readonly keptMs: number;
  readonly maxIncidents: number;
  readonly maxNames: number;
}

/** Its bytes travel beside it. */
type WithoutBytes<T extends { readonly stored: StoredMessage }> = Omit<T, 'stored'> &
  Omit<StoredMessage, 'bytes'> & { readonly length: number };

export type ExportedRow = (ApplicationItem & { readonly id: string }) | WithoutBytes<MessageItem>;

export type ImportedRow = { readonly key: string } & (
  | ApplicationItem
  | WithoutBytes<MessageItem>
  | WithoutBytes<DeadLetterItem>
);

export interface ExportRequest {
  readonly kind: ExportedRow['kind'];
  /** The id of the last item of the page before. */
  readonly after: number;
}

/** Each operation's argument and answer. */
export interface Operations {
  open: [null, Backlog];
  enqueue: [
    { readonly entries: readonly EntryTuple[]; readonly delayMs: number } & EnqueueSettings,
    { readonly sequences: number[]; readonly closed: string[] },
  ];
  claim: [ClaimRequest, ClaimAnswer | { readonly dueInMs?: number }];
  settle: [
    {
      readonly id: string;
      /** `null`: all were delivered. */
      readonly results: readonly ResultTuple[] | null;
      readonly count: number;
      readonly update: StateUpdate;
      readonly maxDeadBytes: number;
    },
    boolean,
  ];
  release: [{ readonly id: string; readonly update: StateUpdate | null }, boolean];
  extend: [{ readonly id: string; readonly leaseMs: number }, boolean];
  expire: [
    { readonly olderThanMs: number; readonly maxMessages: number; readonly maxDeadBytes: number },
    ExpiredMessage[],
  ];
  countPending: [readonly SequenceRange[], number];
  applicationState: [string, StateTuple | null];
  closeApplication: [
    {
      readonly applicationId: string;
      readonly initialState: StateTuple;
      readonly maxMessages: number;
      readonly maxDeadBytes: number;
    },
    ExpiredMessage[],
  ];
  reopenApplication: [{ readonly applicationId: string; readonly state: StateTuple }, null];
  listDeadLetters: [
    { readonly filter: DeadLetterFilter; readonly limit: number; readonly after: number },
    readonly DeadTuple[],
  ];
  replay: [PageRequest & { readonly bounds: Bounds }, PageAnswer];
  purge: [PageRequest, PageAnswer];
  exportPage: [ExportRequest, readonly ExportedRow[]];
  importItems: [
    { readonly items: readonly ImportedRow[]; readonly maxDeadBytes: number } & EnqueueSettings,
    number,
  ];
  stats: [
    null,
    {
      readonly pendingBytes: number;
      readonly oldestDueMs: number;
      readonly applications: readonly LedgerTuple[];
    },
  ];
  /** Releases the claims of a handle that closes. Answers the number of messages left. */
  closeHandle: [readonly string[], number];
  tellIncident: [
    { readonly report: IncidentReport; readonly limits: IncidentLimits },
    IncidentNews,
  ];
  retractIncident: [{ readonly report: IncidentReport; readonly news: IncidentNews }, null];
}

/** Settings of a handle, the same object in each of its calls: a post carries it once. */
export interface EnqueueSettings {
  readonly settings: { readonly initialState: StateTuple; readonly bounds: Bounds };
}

export type Operation = keyof Operations;

/** `nowMs` is `null` where the machine's own clock counts, which the worker reads itself. */
export type CallTuple = {
  [Name in Operation]: readonly [
    id: number,
    operation: Name,
    argument: Operations[Name][0],
    nowMs: number | null,
    bodiesAt: number,
  ];
}[Operation];

/** From the main thread to the worker. */
export type Post =
  | { readonly kind: 'calls'; readonly calls: readonly CallTuple[]; readonly bodies: Uint8Array }
  | { readonly kind: 'settings'; readonly sync: boolean; readonly watch: boolean }
  | { readonly kind: 'close' };

export interface FailureAnswer {
  readonly code: 'ERR_QUEUE_FULL' | 'ERR_QUEUE_FAILED' | 'ERR_QUEUE_FOREIGN' | 'ERR_PEER_MISSING';
  readonly detail: string;
  readonly path?: readonly string[];
  readonly cause?: { readonly message: string; readonly errcode?: number };
}

export type AnswerTuple = readonly [
  id: number,
  value: unknown,
  bodiesAt: number,
  failure: FailureAnswer | null,
];

export interface LostMessages {
  readonly applicationId: string;
  readonly lost: number;
}

/** From the worker to the main thread. */
export interface WorkerPost {
  readonly answers: readonly AnswerTuple[];
  readonly bodies: Uint8Array;
  /** A message may be due earlier than a claim said. */
  readonly due: boolean;
  readonly damage: {
    readonly kind: 'rows' | 'rolled-back';
    readonly missing: number;
    readonly lost: readonly LostMessages[];
  } | null;
}

export interface WorkerData {
  readonly file: string;
  readonly peerPath: string | null;
  readonly gate: SharedArrayBuffer;
  readonly sync: boolean;
  readonly watch: boolean;
}

/** Words of the gate: whether the worker is inside SQLite, and whether it must not enter any more. */
export const GATE_BUSY = 0;
export const GATE_STOP = 1;

export const stateTuple = (state: ApplicationState | ApplicationUpdate): StateTuple => [
  state.tier,
  toWhole(state.maxMessages),
  toWhole(state.maxBytes),
  JSON.stringify(state.circuitBreaker),
];

/** Limits of the engine may be infinite or have fractions; SQLite stores integers. */
export const toWhole = (value: number): number =>
  Math.min(Math.max(Math.floor(value), 0), Number.MAX_SAFE_INTEGER);
