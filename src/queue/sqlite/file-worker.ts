/** The main thread's end of the worker of one file. */
import { Worker } from 'node:worker_threads';
import { SecurityEventError } from '../../errors.ts';
import { untraced } from '../../runtime/untraced.ts';
import { peerPath } from './peer-path.ts';
import {
  type CallTuple,
  type FailureAnswer,
  GATE_BUSY,
  GATE_STOP,
  type Operation,
  type Operations,
  type Post,
  type WorkerData,
  type WorkerPost,
} from './protocol.ts';
import { WORKER_SOURCE } from './worker-source.generated.ts';

/** How long the end of the process waits for a transaction. */
const EXIT_WAIT_MS = 1500;

/** What a call answers, and the buffer in which its bodies begin at `bodiesAt`. */
export interface Answer<T> {
  readonly value: T;
  readonly bodies: Buffer;
}

interface PendingCall {
  readonly resolve: (answer: Answer<unknown>) => void;
  readonly reject: (error: SecurityEventError) => void;
}

export interface WorkerSettings {
  readonly sync: boolean;
  /** Whether somebody wants to know what other processes make due. */
  readonly watch: boolean;
}

type Events = (post: Pick<WorkerPost, 'due' | 'damage'>) => void;

export class FileWorker {
  readonly #worker: Worker;
  readonly #gate = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  readonly #pending = new Map<number, PendingCall>();
  readonly #ended: Promise<void>;
  /** Calls of this turn of the event loop: they go in one post. */
  #calls: CallTuple[] = [];
  #bodies: Uint8Array[] = [];
  #bodyBytes = 0;
  #lastId = 0;
  #isOver = false;

  constructor(file: string, settings: WorkerSettings, onEvent: Events) {
    const data: WorkerData = {
      file,
      peerPath: peerPath(),
      gate: this.#gate.buffer,
      ...settings,
    };
    this.#worker = untraced(() => start(data));
    this.#worker.unref();
    this.#worker.on('message', (post: WorkerPost) => {
      this.#settle(post);
      if (post.due || post.damage !== null) onEvent(post);
    });
    this.#worker.on('error', (cause) => this.#fail(cause));
    this.#ended = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#fail(new Error('the worker ended'));
        resolve();
      });
    });
  }

  /** Whether it takes calls no more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Rejects with a SecurityEventError. A call under way keeps the process alive. */
  call<Name extends Operation>(
    operation: Name,
    argument: Operations[Name][0],
    {
      nowMs,
      bodies = [],
    }: { readonly nowMs: number | null; readonly bodies?: readonly Uint8Array[] },
  ): Promise<Answer<Operations[Name][1]>> {
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      if (this.#pending.size === 0) this.#worker.ref();
      this.#pending.set(this.#lastId, { resolve: resolve as PendingCall['resolve'], reject });
      if (this.#calls.length === 0) process.nextTick(() => this.#flush());
      const call = [this.#lastId, operation, argument, nowMs, this.#bodyBytes];
      this.#calls.push(call as unknown as CallTuple);
      for (const body of bodies) {
        this.#bodies.push(body);
        this.#bodyBytes += body.length;
      }
    });
  }

  configure({ sync, watch }: WorkerSettings): void {
    this.#flush();
    this.#post({ kind: 'settings', sync, watch });
  }

  /** Ends the worker once the calls before are done. */
  async close(): Promise<void> {
    this.#flush();
    this.#isOver = true;
    this.#worker.ref();
    this.#post({ kind: 'close' });
    await this.#ended;
  }

  /** Waits until the worker is outside SQLite, and keeps it there. */
  stop(): void {
    this.#isOver = true;
    Atomics.store(this.#gate, GATE_STOP, 1);
    Atomics.notify(this.#gate, GATE_STOP);
    Atomics.wait(this.#gate, GATE_BUSY, 1, EXIT_WAIT_MS);
  }

  #flush(): void {
    if (this.#calls.length === 0) return;
    const bodies = new Uint8Array(this.#bodyBytes);
    let end = 0;
    for (const body of this.#bodies) {
      bodies.set(body, end);
      end += body.length;
    }
    const calls = this.#calls;
    this.#calls = [];
    this.#bodies = [];
    this.#bodyBytes = 0;
    this.#post({ kind: 'calls', calls, bodies }, [bodies.buffer]);
  }

  #post(post: Post, transfer: ArrayBuffer[] = []): void {
    try {
      this.#worker.postMessage(post, transfer);
    } catch (error) {
      this.#fail(error);
    }
  }

  #settle({ answers, bodies }: WorkerPost): void {
    const all = Buffer.from(bodies.buffer, bodies.byteOffset, bodies.byteLength);
    for (const [id, value, bodiesAt, failure] of answers) {
      const call = this.#pending.get(id);
      this.#pending.delete(id);
      if (failure === null) call?.resolve({ value, bodies: all.subarray(bodiesAt) });
      else call?.reject(errorOf(failure));
    }
    if (this.#pending.size === 0 && !this.#isOver) this.#worker.unref();
  }

  #fail(cause: unknown): void {
    this.#isOver = true;
    const detail = 'the worker of the file ended';
    for (const { reject } of this.#pending.values()) {
      reject(new SecurityEventError('ERR_QUEUE_FAILED', { detail, cause }));
    }
    this.#pending.clear();
  }
}

/** Nothing of the host's command line or environment runs in it: no loaders, no `--require`. */
const start = (workerData: WorkerData): Worker =>
  new Worker(WORKER_SOURCE, {
    eval: true,
    name: 'security-event-delivery: sqlite',
    workerData,
    env: {},
    execArgv: [],
    argv: [],
  });

function errorOf({ code, detail, path = [], cause }: FailureAnswer): SecurityEventError {
  const source =
    cause === undefined ? {} : { cause: Object.assign(new Error(cause.message), cause) };
  return new SecurityEventError(code, { detail, path, ...source });
}
