/**
 * Messages between the main thread and the worker of a file. The arguments and results of the
 * operations are declared by the functions in worker/operations.ts.
 */
import type { ApplicationState, StoredMessage } from '../queue.ts';
import type { SqliteQueueDamage } from './sqlite-options.ts';

/** Two copies of the package share a worker only if they agree on this number. */
export const PROTOCOL_VERSION = 1;

/** Settings of a handle. All of its calls carry the same object, which a post contains once. */
export interface HandleSettings {
  /** Whether its calls resolve only once their changes are on the disk. */
  readonly sync: boolean;
  readonly initialState: ApplicationState;
  readonly maxPendingBytes: number;
  readonly maxPendingMessages: number;
  readonly maxDeadBytes: number;
}

/** A message without its bytes: those of all messages of a post lie in one buffer, in their order. */
export interface PostedMessage extends Omit<StoredMessage, 'bytes'> {
  readonly length: number;
}

export interface PostedCall {
  readonly id: number;
  readonly operation: string;
  /** `null` for the machine's clock, which the worker reads itself. */
  readonly nowMs: number | null;
  readonly settings: HandleSettings | null;
  readonly args: readonly unknown[];
  /** Offset of the call's bytes in the buffer of its post. */
  readonly bytesAt: number;
}

/** From the main thread to the worker. */
export type Post = { readonly calls: readonly PostedCall[]; readonly bytes: Uint8Array } | 'close';

export interface FailureAnswer {
  readonly code: 'ERR_QUEUE_FULL' | 'ERR_QUEUE_FAILED' | 'ERR_QUEUE_FOREIGN' | 'ERR_PEER_MISSING';
  readonly detail: string;
  readonly path?: readonly string[];
  readonly cause?: { readonly message: string; readonly errcode?: number };
}

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly failure?: FailureAnswer;
}

/** From the worker to the main thread. */
export interface WorkerPost {
  readonly answers: readonly Answer[];
  /** A message may be due earlier than a claim said. */
  readonly due: boolean;
  readonly damage: Omit<SqliteQueueDamage, 'file'> | null;
}

export interface WorkerData {
  readonly file: string;
  readonly peerPath: string | null;
  readonly gate: SharedArrayBuffer;
}

/** Indexes into the gate: whether the worker is inside SQLite, and whether it may no longer enter. */
export const GATE_BUSY = 0;
export const GATE_STOP = 1;
