/** The open file, and the groups of calls that share a transaction. */
import { systemClock } from '../../../runtime/clock.ts';
import {
  type Answer,
  inodeOf,
  type PostedCall,
  type WorkerData,
  type WorkerPost,
} from '../protocol.ts';
import { repairTimes } from './applications.ts';
import { type Database, Gate, Stopped } from './database.ts';
import { DiskSpace } from './disk-space.ts';
import { failureAnswer, isBroken, isDiskFull, Rejection } from './failure.ts';
import { endExpiredClaims } from './live-claims.ts';
import { openDatabase } from './open.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { loadSqlite } from './sqlite-library.ts';
import { Context, Store } from './store.ts';

/** No call joins a transaction after this time, so that other processes wait less than 100 ms. */
const GROUP_MS = 50;

export interface WaitingCall {
  readonly call: PostedCall;
  /** Bytes of all calls of its post. */
  readonly bytes: Uint8Array;
}

/** Whether the call adds messages: then it may not use the reserve, which is for a full disk. */
const isGrowing = ({ call }: Pick<WaitingCall, 'call'>): boolean =>
  call.operation === 'enqueue' || call.operation === 'importItems';

/** The answers of a transaction, and the buffers that move to the main thread with them. */
interface Answered extends WorkerPost {
  readonly transfer: readonly ArrayBuffer[];
}

interface Storage {
  readonly database: Database;
  readonly store: Store;
  readonly space: DiskSpace;
}

const REMOVED =
  'the file was removed or replaced while in use: put it back, or let its messages be delivered, and restart';

type AnyOperation = (context: Context, ...args: readonly unknown[]) => unknown;

export class QueueFile {
  readonly #file: string;
  readonly #peerPath: string | null;
  readonly #gate: Gate;
  /** Damage that no post has reported yet. */
  readonly #damage: WorkerPost['damage'][number][] = [];
  #storage: Storage | undefined;
  /** Set once the file was opened: from then on it must be this one. */
  #inode: number | undefined;
  #isSynchronous: boolean | undefined;
  /** Number of calls that the last transaction began. */
  #attempted = 0;
  #dataVersion = 0;
  #dueChanges = 0;

  constructor({ file, peerPath, gate, inode }: WorkerData) {
    this.#file = file;
    this.#peerPath = peerPath;
    this.#inode = inode;
    this.#gate = new Gate(gate);
  }

  /** Runs the first call, and as many after it as one transaction takes. Throws only if the process ends. */
  run(calls: readonly WaitingCall[]): Answered {
    const [first] = calls as readonly [WaitingCall];
    this.#attempted = 0;
    try {
      return this.#commit(calls);
    } catch (error) {
      if (error instanceof Stopped) throw error;
      // Another process locks the file, or it cannot be opened.
      if (error instanceof Rejection) return this.#failed(calls, error);
      // One call has failed the whole transaction. Fewer and fewer calls are tried, down to one.
      if (this.#attempted > 1) return this.run(calls.slice(0, Math.ceil(this.#attempted / 2)));
      const isFull = isDiskFull(error);
      if (isFull && !isGrowing(first) && this.#storage?.space.makeRoom() === true)
        return this.run([first]);
      return this.#failed(this.#attempted === 0 && !isFull ? calls : [first], error);
    }
  }

  #commit(calls: readonly WaitingCall[]): Answered {
    const { store, space } = this.#storageFor(calls);
    // Before the transaction, since this may run a checkpoint.
    const refusal = calls.some(isGrowing) ? this.#refusalOfGrowth(space) : undefined;
    const { answers, transfer } = store.transaction(() => {
      const context = new Context(store);
      const answered: Answer[] = [];
      const endMs = systemClock.monotonicMs() + GROUP_MS;
      for (const [index, waiting] of calls.entries()) {
        this.#attempted = index + 1;
        answered.push(this.#answer(context, waiting, refusal));
        if (systemClock.monotonicMs() > endMs) break;
      }
      return { answers: answered, transfer: context.transfer };
    });
    const { isDue: due, state } = store;
    if (due) this.#dueChanges = state.due_changes;
    this.#afterCommit(space, state.last_sequence);
    this.#noteDamage(store);
    return { answers, transfer, due, damage: this.#damage.splice(0) };
  }

  /** Returns why no messages may be added; `undefined` if they may. */
  #refusalOfGrowth(space: DiskSpace): string | undefined {
    // SQLite would write to a removed file without an error, and its end would lose the messages.
    if (inodeOf(this.#file) !== this.#inode) return REMOVED;
    return space.canGrow() ? undefined : 'the disk is full';
  }

  #noteDamage({ damagedMessages: applications }: Store): void {
    if (applications.length > 0)
      this.#damage.push({ kind: 'rows', applications, missingSequences: 0 });
  }

  /** Errors here do not reject the calls, which are committed. */
  #afterCommit(space: DiskSpace, lastSequence: number): void {
    try {
      space.committed(lastSequence);
    } catch (error) {
      if (error instanceof Stopped) throw error;
      this.close();
    }
  }

  #answer(context: Context, { call, bytes }: WaitingCall, refusal: string | undefined): Answer {
    const { id, operation, args, bytesAt } = call;
    try {
      if (isGrowing({ call }) && refusal !== undefined)
        throw new Rejection('ERR_QUEUE_FAILED', refusal);
      beginCall(context, call, bytes.subarray(bytesAt));
      const value = (OPERATIONS[operation as Operation] as AnyOperation)(context, ...args);
      return { id, value };
    } catch (error) {
      // The call was refused before it changed anything, so the other calls can continue.
      if (!(error instanceof Rejection)) throw error;
      return { id, failure: failureAnswer(error, this.#file) };
    }
  }

  #failed(calls: readonly WaitingCall[], error: unknown): Answered {
    if (isBroken(error)) this.close();
    const failure = failureAnswer(error, this.#file);
    const answers = calls.map(({ call }): Answer => ({ id: call.id, failure }));
    return { answers, transfer: [], due: false, damage: this.#damage.splice(0) };
  }

  #storageFor(calls: readonly WaitingCall[]): Storage {
    const storage = this.#storage ?? this.#openStorage(calls[0]?.call.nowMs ?? null);
    this.#storage = storage;
    const isSynchronous = calls.some(({ call }) => call.settings?.sync === true);
    if (this.#isSynchronous !== isSynchronous) {
      const mode = isSynchronous ? 'full' : 'normal';
      storage.database.withoutRetry(() => storage.database.exec(`pragma synchronous = ${mode}`));
      this.#isSynchronous = isSynchronous;
    }
    return storage;
  }

  #openStorage(nowMs: number | null): Storage {
    // A new file would hide that the messages of the removed one are lost.
    if (this.#inode !== undefined && inodeOf(this.#file) !== this.#inode)
      throw new Rejection('ERR_QUEUE_FAILED', REMOVED);
    const sqlite = this.#gate.run(() => loadSqlite(this.#peerPath));
    const database = openDatabase({ sqlite, gate: this.#gate, file: this.#file });
    const space = new DiskSpace(this.#file, database);
    const store = new Store(database);
    try {
      const missingSequences = store.transaction(() => {
        const behind = Math.max(0, space.notedSequence - store.state.last_sequence);
        // The lost sequences must not be given to new messages.
        store.state.last_sequence += behind;
        const context = new Context(store);
        beginCall(context, { nowMs, settings: null });
        repairTimes(context);
        return behind;
      });
      if (missingSequences > 0)
        this.#damage.push({ kind: 'rolled-back', applications: [], missingSequences });
      this.#noteDamage(store);
    } catch (error) {
      space.close();
      database.close();
      throw error;
    }
    this.#isSynchronous = undefined;
    this.#inode = inodeOf(this.#file);
    return { database, store, space };
  }

  /** Whether another process has made a message due. */
  isDueByOthers(): boolean {
    const database = this.#storage?.database;
    if (database === undefined) return false;
    return database.withoutRetry(() => {
      const version = database.number('pragma data_version');
      if (version === this.#dataVersion) return false;
      const changes = database.number('select due_changes from queue_state');
      this.#dataVersion = version;
      const isChanged = changes !== this.#dueChanges;
      this.#dueChanges = changes;
      return isChanged;
    });
  }

  tidy(): void {
    this.#storage?.space.tidy();
  }

  /** Closes the connection. The next call opens the file again. */
  close(): void {
    const storage = this.#storage;
    this.#storage = undefined;
    try {
      storage?.space.close();
      storage?.database.close();
    } catch (error) {
      if (error instanceof Stopped) throw error;
    }
  }
}

/** Begins a call. Ends claims whose lease has expired, so that no call sees one. */
function beginCall(context: Context, ...call: Parameters<Context['begin']>): void {
  if (context.begin(...call)) endExpiredClaims(context);
}
