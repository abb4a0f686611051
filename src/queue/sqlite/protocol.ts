/**
 * What the main thread and the worker of a file send each other by `postMessage`: posts, each with several calls
 * or answers. The functions in worker/operations.ts declare the arguments and results of the calls.
 */
import { statSync } from 'node:fs';
import type { ApplicationState, StoredMessage } from '../queue.ts';
import type { SqliteQueueDamage } from './sqlite-options.ts';

/** Two copies of the package share a worker only if they agree on this number. */
export const PROTOCOL_VERSION = 1;

/** Settings of a queue. All of its calls have the same object, so that a post contains it once. */
export interface HandleSettings {
  /** Whether its calls resolve only when their changes are on the disk. */
  readonly sync: boolean;
  readonly initialState: ApplicationState;
  readonly maxPendingBytes: number;
  readonly maxPendingMessages: number;
  readonly maxDeadBytes: number;
}

/** A message without its bytes: one buffer has the bytes of all messages of a post, in order. */
export interface PostedMessage extends Omit<StoredMessage, 'bytes'> {
  readonly length: number;
}

export interface PostedCall {
  readonly id: number;
  readonly operation: string;
  /** `null`: the worker reads the machine's clock. */
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
  readonly damage: readonly Omit<SqliteQueueDamage, 'file'>[];
}

export interface WorkerData {
  readonly file: string;
  readonly peerPath: string | null;
  /** Keeps the worker outside SQLite when the process ends: see `Gate` in worker/database.ts. */
  readonly gate: SharedArrayBuffer;
  /** The file's inode if an earlier worker, which crashed, had opened it. */
  readonly inode: number | undefined;
}

export const inodeOf = (file: string): number | undefined =>
  statSync(file, { throwIfNoEntry: false })?.ino;

/** Index of a number of the gate: 1 while the worker is inside SQLite. */
export const GATE_BUSY = 0;
/** Index of another: 1 once the worker may no longer enter SQLite. */
export const GATE_STOP = 1;
