/** Runs the worker thread of one file, and posts calls to it. */

import { join } from 'node:path';
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { SecurityEventError } from '../../errors.ts';
import { NumberedItems } from '../../runtime/numbered-items.ts';
import { realTimers } from '../../runtime/real-timers.ts';
import { untraced } from '../../runtime/untraced.ts';
import {
  type FailureAnswer,
  GATE_BUSY,
  GATE_STOP,
  inodeOf,
  type Post,
  type PostedCall,
  type WorkerData,
  type WorkerPost,
} from './protocol.ts';
import type { Operation, Operations } from './worker/operations.ts';
import { WORKER_SOURCE } from './worker-source.generated.ts';

/** How long the process waits for a transaction when it ends. */
const EXIT_WAIT_MS = 1500;

const PEER = '@photostructure/sqlite';

interface PendingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: SecurityEventError) => void;
}

/** The arguments of an operation. `bodies` has the bytes of the messages in `args`. */
export interface CallArguments<Name extends Operation> {
  readonly args: Operations[Name][0];
  readonly bodies?: readonly Uint8Array[] | undefined;
}

type CallOf<Name extends Operation> = CallArguments<Name> & Pick<PostedCall, 'nowMs' | 'settings'>;

type OnEvent = (post: Pick<WorkerPost, 'due' | 'damage'>) => void;

export class FileWorker {
  readonly #file: string;
  readonly #worker: Worker;
  readonly #gate = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  readonly #pending = new NumberedItems<PendingCall>();
  readonly #exited: Promise<void>;
  /** Calls since the last post: those of one turn of the event loop share a post. */
  #calls: PostedCall[] = [];
  #bodies: Uint8Array[] = [];
  #byteCount = 0;
  #inode: number | undefined;
  #isClosed = false;
  #hasExited = false;

  /** @throws SecurityEventError `ERR_QUEUE_FAILED` when no thread can be started */
  constructor({ file, inode }: Pick<WorkerData, 'file' | 'inode'>, onEvent: OnEvent) {
    const gate = this.#gate.buffer;
    this.#worker = untraced(() => start({ file, inode, peerPath: peerPath(), gate }));
    this.#file = file;
    this.#inode = inode;
    this.#worker.unref();
    this.#worker.on('message', (post: WorkerPost) => {
      this.#answer(post);
      if (post.due || post.damage.length > 0) onEvent(post);
    });
    this.#worker.on('error', (cause) => this.#fail(cause));
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#hasExited = true;
        this.#fail(new Error('the worker ended'));
        resolve();
      });
    });
  }

  /** The file's inode, once the file was opened. */
  get inode(): number | undefined {
    return this.#inode;
  }

  /** Whether it takes no more calls: it is closing, or has failed. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Runs an operation in the worker. Keeps the process alive until the answer. Rejects with a SecurityEventError. */
  call<Name extends Operation>(
    operation: Name,
    { nowMs, settings, args, bodies = [] }: CallOf<Name>,
  ): Promise<Operations[Name][1]> {
    return new Promise((resolve, reject) => {
      if (this.#pending.size === 0) this.#worker.ref();
      const id = this.#pending.add({ resolve: resolve as PendingCall['resolve'], reject });
      if (this.#calls.length === 0) realTimers.nextTick(() => this.#flush());
      const bytesAt = this.#byteCount;
      this.#calls.push({ id, operation, nowMs, settings, args, bytesAt });
      for (const body of bodies) {
        this.#bodies.push(body);
        this.#byteCount += body.length;
      }
    });
  }

  /** Ends the worker after the earlier calls. */
  async close(): Promise<void> {
    this.#flush();
    this.#isClosed = true;
    this.#worker.ref();
    this.#post('close');
    await this.#exited;
  }

  /** Blocks until the worker is outside SQLite, and keeps it outside. */
  stop(): void {
    if (this.#hasExited) return;
    this.#isClosed = true;
    Atomics.store(this.#gate, GATE_STOP, 1);
    Atomics.notify(this.#gate, GATE_STOP);
    Atomics.wait(this.#gate, GATE_BUSY, 1, EXIT_WAIT_MS);
  }

  #flush(): void {
    if (this.#calls.length === 0) return;
    const bytes = new Uint8Array(this.#byteCount);
    let end = 0;
    for (const body of this.#bodies) {
      bytes.set(body, end);
      end += body.length;
    }
    const calls = this.#calls;
    this.#calls = [];
    this.#bodies = [];
    this.#byteCount = 0;
    try {
      this.#post({ calls, bytes }, [bytes.buffer]);
    } catch {
      // The arguments or settings of a call cannot be cloned. Throwing here, in a tick, would end the process.
      const cloneable = calls.filter((call) => this.#isCloneable(call));
      this.#post({ calls: cloneable, bytes }, [bytes.buffer]);
    }
  }

  /** Returns whether a call can be posted. Rejects it if not. */
  #isCloneable({ id, args, settings }: PostedCall): boolean {
    try {
      structuredClone([args, settings]);
      return true;
    } catch (cause) {
      this.#take(id).reject(workerFailure('the call cannot be posted', cause));
      return false;
    }
  }

  #post(post: Post, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(post, transfer);
  }

  #answer({ answers }: WorkerPost): void {
    for (const { id, value, failure } of answers) {
      const call = this.#take(id);
      if (failure !== undefined) {
        call.reject(errorOf(failure));
        continue;
      }
      this.#inode ??= inodeOf(this.#file);
      call.resolve(value);
    }
  }

  #take(id: number): PendingCall {
    const call = this.#pending.remove(id);
    if (this.#pending.size === 0 && !this.#isClosed) this.#worker.unref();
    return call;
  }

  #fail(cause: unknown): void {
    this.#isClosed = true;
    for (const { reject } of this.#pending)
      reject(workerFailure('the worker of the file ended', cause));
  }
}

const workerFailure = (detail: string, cause: unknown): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', { detail, cause });

/** Starts a worker without the host's environment and command line: no loaders, no `--require`. */
function start(data: WorkerData): Worker {
  const name = 'security-event-delivery: sqlite';
  const isolated = { env: {}, execArgv: [], argv: [] };
  try {
    return new Worker(WORKER_SOURCE, { eval: true, name, workerData: data, ...isolated });
  } catch (cause) {
    throw workerFailure('no worker thread can be started', cause);
  }
}

/**
 * Returns the path of the optional peer, or null if it is not installed. Searches from this module, from the
 * program and from the current folder: in a bundle `import.meta.url` is undefined or the bundle's own.
 */
export function peerPath(): string | null {
  // Not imported: webpack replaces calls of an imported `createRequire`, and would not find the peer.
  const { createRequire: requireFrom } = process.getBuiltinModule('node:module');
  const places = [import.meta.url as string | undefined, process.argv[1], join(process.cwd(), '_')];
  for (const place of places) {
    if (place === undefined) continue;
    try {
      return requireFrom(place).resolve(PEER);
    } catch {
      // Try the next place.
    }
  }
  return null;
}

function errorOf({ code, detail, path = [], cause }: FailureAnswer): SecurityEventError {
  const source =
    cause === undefined ? {} : { cause: Object.assign(new Error(cause.message), cause) };
  return new SecurityEventError(code, { detail, path, ...source });
}
