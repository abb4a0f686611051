/**
 * The worker of one file. It is bundled into src/queue/sqlite/worker-source.generated.ts, since it has
 * to start from every bundler's output: run `npm run generate` after a change in this folder.
 */
import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';
import { systemClock } from '../../../runtime/clock.ts';
import type { Post, WorkerData, WorkerPost } from '../protocol.ts';
import { Stopped } from './database.ts';
import { QueueFile, type WaitingCall } from './queue-file.ts';

const POLL_MS = 20;
const IDLE_MS = 250;

const NOTHING: WorkerPost = { answers: [], due: false, damage: null };

/** Answers the calls that the main thread posts. */
export class FileThread {
  readonly #port: MessagePort;
  readonly #file: QueueFile;
  #waiting: WaitingCall[] = [];
  #isClosing = false;
  #watching: AbortController | undefined;
  #isResting = false;
  #groups = 0;

  constructor(port: MessagePort, data: WorkerData) {
    this.#port = port;
    this.#file = new QueueFile(data, (damage) => this.#send({ ...NOTHING, damage }));
    this.#watch(data.watch);
  }

  listen(): void {
    this.#port.on('message', (post: Post) => this.#receive(post));
  }

  /** Takes all posts that have arrived: their calls share transactions. */
  #receive(first: Post): void {
    for (let post: Post | undefined = first; post !== undefined; post = this.#nextPost()) {
      if (post.kind === 'close') this.#isClosing = true;
      else if (post.kind === 'settings') {
        this.#file.sync = post.sync;
        this.#watch(post.watch);
      } else for (const call of post.calls) this.#waiting.push({ call, bytes: post.bytes });
    }
    try {
      this.#work();
    } catch (error) {
      // Any other error ends the worker, so that no call waits for an answer.
      if (!(error instanceof Stopped)) throw error;
    }
  }

  #nextPost(): Post | undefined {
    return receiveMessageOnPort(this.#port)?.message as Post | undefined;
  }

  #work(): void {
    while (this.#waiting.length > 0) {
      this.#groups += 1;
      const { answers, due, damage, transfer } = this.#file.run(this.#waiting);
      this.#waiting = this.#waiting.slice(answers.length);
      this.#send({ answers, due, damage }, transfer);
    }
    if (this.#isClosing) this.#close();
    else void this.#rest();
  }

  #send(post: WorkerPost, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(post, transfer);
  }

  /** Tidies up while nobody calls, a little at a time. */
  async #rest(): Promise<void> {
    if (this.#isResting) return;
    this.#isResting = true;
    for (let isMore = true; isMore && !this.#isClosing; ) {
      const before = this.#groups;
      await systemClock.idle(IDLE_MS);
      const isIdle = before === this.#groups && !this.#isClosing;
      isMore = !isIdle || this.#quietly(() => this.#file.tidy()) === true;
    }
    this.#isResting = false;
  }

  #watch(isWatching: boolean): void {
    if (isWatching === (this.#watching !== undefined)) return;
    this.#watching?.abort();
    this.#watching = isWatching ? new AbortController() : undefined;
    if (this.#watching !== undefined) void this.#poll(this.#watching.signal);
  }

  /** Looks for what other processes have made due. */
  async #poll(signal: AbortSignal): Promise<void> {
    for (;;) {
      await systemClock.idle(POLL_MS, signal);
      if (signal.aborted) return;
      if (this.#quietly(() => this.#file.isDueByOthers()) === true)
        this.#send({ ...NOTHING, due: true });
    }
  }

  #close(): void {
    this.#file.drop();
    this.#watch(false);
    this.#port.close();
  }

  /** The next call finds out what is wrong with the file. */
  #quietly<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch {
      return undefined;
    }
  }
}

if (parentPort !== null) new FileThread(parentPort, workerData as WorkerData).listen();
