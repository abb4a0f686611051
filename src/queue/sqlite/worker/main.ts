/**
 * The worker of one file. It is bundled into src/queue/sqlite/worker-source.generated.ts, since it has
 * to start from every bundler's output: run `npm run generate` after a change in this folder.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../runtime/clock.ts';
import { nextTurn } from '../../../runtime/next-turn.ts';
import type { LostMessages, Post, WorkerData, WorkerPost } from '../protocol.ts';
import type { Database } from './database.ts';
import { DiskSpace } from './disk-space.ts';
import { loadEngine } from './engine.ts';
import { failureAnswer, isBroken } from './failure.ts';
import { Gate, Stopped } from './gate.ts';
import { type Answers, noAnswers, runGroup, type Storage, type WaitingCall } from './group.ts';
import { openDatabase } from './open.ts';
import { audit } from './repair.ts';
import { Transaction } from './transaction.ts';

const POLL_MS = 20;
const IDLE_MS = 250;
/** How much one transaction writes at most, so that other processes wait for less than 100 ms. */
const GROUP_BYTES = 4 * 1024 * 1024;
const GROUP_CALLS = 2000;

/** Answers the calls that the main thread posts. */
export class FileThread {
  readonly #port: MessagePort;
  readonly #file: string;
  readonly #peerPath: string | null;
  readonly #gate: Gate;
  #sync: boolean;
  #isSynchronous: boolean | undefined;
  #storage: Storage | undefined;
  #waiting: WaitingCall[] = [];
  #isScheduled = false;
  #isClosing = false;
  #watching: AbortController | undefined;
  #isResting = false;
  #groups = 0;
  #dataVersion: unknown;
  #dueChanges: unknown;

  constructor(port: MessagePort, { file, peerPath, gate, sync, watch }: WorkerData) {
    this.#port = port;
    this.#file = file;
    this.#peerPath = peerPath;
    this.#gate = new Gate(gate);
    this.#sync = sync;
    this.#watch(watch);
  }

  listen(): void {
    this.#port.on('message', (post: Post) => this.#receive(post));
  }

  #receive(post: Post): void {
    if (post.kind === 'settings') {
      this.#sync = post.sync;
      this.#watch(post.watch);
      return;
    }
    if (post.kind === 'close') this.#isClosing = true;
    else for (const call of post.calls) this.#waiting.push({ call, bodies: post.bodies });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Later, so that all posts that have arrived are in the group.
    void nextTurn().then(() => this.#unlessStopped(() => this.#work()));
  }

  #work(): void {
    this.#isScheduled = false;
    while (this.#waiting.length > 0) this.#answer(this.#nextGroup());
    if (this.#isClosing) this.#close();
    else void this.#rest();
  }

  /** Tidies up while nobody calls, a little at a time. */
  async #rest(): Promise<void> {
    if (this.#isResting) return;
    this.#isResting = true;
    for (let isMore = true; isMore; ) {
      const before = this.#groups;
      await systemClock.idle(IDLE_MS);
      if (this.#isClosing) return;
      const isIdle = before === this.#groups;
      isMore = !isIdle || this.#unlessStopped(() => this.#storage?.space.tidy()) === true;
    }
    this.#isResting = false;
  }

  #nextGroup(): WaitingCall[] {
    let bytes = 0;
    let count = 0;
    for (const { call } of this.#waiting) {
      if (count >= GROUP_CALLS || bytes > GROUP_BYTES) break;
      count += 1;
      if (call[1] === 'enqueue') for (const entry of call[2].entries) bytes += entry[3];
    }
    const group = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    return group;
  }

  #answer(calls: readonly WaitingCall[]): void {
    this.#groups += 1;
    const into = noAnswers();
    try {
      runGroup(this.#opened(), calls, into);
    } catch (error) {
      if (error instanceof Stopped) throw error;
      const failure = failureAnswer(error, this.#file);
      into.answers.push(...calls.map(({ call }) => [call[0], null, 0, failure] as const));
      into.isBroken ||= isBroken(error);
    }
    if (into.isBroken) this.#drop();
    // Otherwise another process may have changed it, and nobody was notified yet.
    if (into.due) this.#dueChanges = into.dueChanges;
    const damage =
      into.lost.length === 0 ? null : ({ kind: 'rows', missing: 0, lost: into.lost } as const);
    this.#send({ ...into, bodies: joined(into), damage });
  }

  #send({ answers, bodies, due, damage }: WorkerPost): void {
    // An own buffer moves to the main thread; a copy would cost as much as reading it.
    this.#port.postMessage({ answers, bodies, due, damage }, [bodies.buffer as ArrayBuffer]);
  }

  #opened(): Storage {
    if (this.#storage === undefined) {
      const engine = this.#gate.run(() => loadEngine(this.#peerPath));
      const database = openDatabase({ engine, gate: this.#gate, file: this.#file });
      const space = new DiskSpace(this.#file, database);
      this.#storage = { file: this.#file, database, space };
      this.#isSynchronous = undefined;
      const missing = space.repairSequence();
      if (missing > 0) this.#sendDamage({ kind: 'rolled-back', missing, lost: [] });
      const lost = database.transaction(() => this.#audit(database));
      if (lost.length > 0) this.#sendDamage({ kind: 'rows', missing: 0, lost });
    }
    const { database } = this.#storage;
    if (this.#isSynchronous !== this.#sync) {
      this.#isSynchronous = this.#sync;
      database.quickly(() =>
        database.exec(`pragma synchronous = ${this.#sync ? 'full' : 'normal'}`),
      );
    }
    return this.#storage;
  }

  #audit(database: Database): LostMessages[] {
    const transaction = new Transaction(database);
    audit(transaction, systemClock.now());
    transaction.flush();
    return transaction.lostMessages;
  }

  #sendDamage(damage: WorkerPost['damage']): void {
    this.#send({ answers: [], bodies: new Uint8Array(0), due: false, damage });
  }

  /** Closes a connection that reported an error, so that the next call opens the file again. */
  #drop(): void {
    try {
      this.#storage?.space.close();
      this.#storage?.database.close();
    } catch (error) {
      if (error instanceof Stopped) throw error;
    }
    this.#storage = undefined;
  }

  #watch(isWatching: boolean): void {
    if (isWatching === (this.#watching !== undefined)) return;
    this.#watching?.abort();
    this.#watching = isWatching ? new AbortController() : undefined;
    if (this.#watching !== undefined) void this.#poll(this.#watching.signal);
  }

  async #poll(signal: AbortSignal): Promise<void> {
    for (;;) {
      await systemClock.idle(POLL_MS, signal);
      if (signal.aborted) return;
      this.#unlessStopped(() => this.#look());
    }
  }

  /** Looks for what other processes have made due. */
  #look(): void {
    const database = this.#storage?.database;
    if (database === undefined) return;
    const isDue = database.quickly(() => {
      const version = database.get('pragma data_version')?.['data_version'];
      if (version === this.#dataVersion) return false;
      this.#dataVersion = version;
      const changes = database.get('select due_changes from queue_state')?.['due_changes'];
      const isChanged = changes !== this.#dueChanges;
      this.#dueChanges = changes;
      return isChanged;
    });
    if (isDue) {
      this.#send({ answers: [], bodies: new Uint8Array(0), due: true, damage: null });
    }
  }

  #close(): void {
    this.#drop();
    this.#watch(false);
    this.#port.close();
  }

  /** When the process ends, the worker stands still. Other errors of timers are tried again. */
  #unlessStopped<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (this.#isClosing && !(error instanceof Stopped)) throw error;
      return undefined;
    }
  }
}

function joined({ bodies, bytes }: Answers): Uint8Array {
  const all = new Uint8Array(bytes);
  let end = 0;
  for (const body of bodies) {
    all.set(body, end);
    end += body.length;
  }
  return all;
}

if (parentPort !== null) new FileThread(parentPort, workerData as WorkerData).listen();
