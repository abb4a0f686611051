/**
 * Messages between the main thread and the worker of a file. The arguments and results of the
 * operations are declared by the functions in worker/operations.ts.
 */
import type { ApplicationState, Format, Tier } from '../queue.ts';

/** Two copies of the package share a worker only if they agree on this number. */
export const PROTOCOL_VERSION = 1;

/** An application's state as it is stored: its circuit breaker as JSON text. */
export type StoredState = readonly [
  tier: Tier,
  maxMessages: number,
  maxBytes: number,
  circuitBreaker: string,
];

/** Settings of a handle. All of its calls carry the same object, which a post contains once. */
export interface HandleSettings {
  readonly initialState: StoredState;
  readonly maxPendingBytes: number;
  readonly maxPendingMessages: number;
  readonly maxDeadBytes: number;
}

/** What never changes of a message, and the number of its bytes: these travel in one buffer. */
export type MessageTuple = readonly [
  applicationId: string,
  messageId: string,
  format: Format,
  length: number,
  dateAt: number,
  countAt: number,
  sizeBytes: number,
];

/** `nowMs` is `null` where the machine's own clock counts, which the worker reads itself. */
export type CallTuple = readonly [
  id: number,
  operation: string,
  nowMs: number | null,
  settings: HandleSettings | null,
  args: readonly unknown[],
  /** Where the call's own bytes begin in the buffer of its post. */
  bytesAt: number,
];

/** From the main thread to the worker. */
export type Post =
  | { readonly kind: 'calls'; readonly calls: readonly CallTuple[]; readonly bytes: Uint8Array }
  | { readonly kind: 'settings'; readonly sync: boolean; readonly watch: boolean }
  | { readonly kind: 'close' };

export interface FailureAnswer {
  readonly code: 'ERR_QUEUE_FULL' | 'ERR_QUEUE_FAILED' | 'ERR_QUEUE_FOREIGN' | 'ERR_PEER_MISSING';
  readonly detail: string;
  readonly path?: readonly string[];
  readonly cause?: { readonly message: string; readonly errcode?: number };
}

export type AnswerTuple = readonly [id: number, value: unknown, failure: FailureAnswer | null];

export interface LostMessages {
  readonly applicationId: string;
  readonly lost: number;
}

/** From the worker to the main thread. */
export interface WorkerPost {
  readonly answers: readonly AnswerTuple[];
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

export const storedState = (state: ApplicationState): StoredState => [
  state.tier,
  toWhole(state.maxMessages),
  toWhole(state.maxBytes),
  JSON.stringify(state.circuitBreaker),
];

/** Limits of the engine may be infinite or have fractions; SQLite stores integers. */
export const toWhole = (value: number): number =>
  Math.min(Math.max(Math.floor(value), 0), Number.MAX_SAFE_INTEGER);
