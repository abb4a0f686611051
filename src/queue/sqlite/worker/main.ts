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

/** Time between two checks for messages that other processes have made due. */
const POLL_MS = 20;
/** Time after the last call from which the worker tidies up. */
const IDLE_MS = 250;

/** Runs the calls that the main thread posts. */
export class FileThread {
  readonly #port: MessagePort;
  readonly #file: QueueFile;
  #isClosing = false;
  #lastWorkMs = 0;

  constructor(port: MessagePort, data: WorkerData) {
    this.#port = port;
    this.#file = new QueueFile(data);
  }

  listen(): void {
    this.#port.on('message', (post: Post) => this.#receive(post));
    void this.#poll();
  }

  /** Receives all posts that have arrived, so that their calls share transactions. */
  #receive(first: Post): void {
    const waiting: WaitingCall[] = [];
    for (let post: Post | undefined = first; post !== undefined; post = this.#nextPost()) {
      if (post === 'close') this.#isClosing = true;
      else for (const call of post.calls) waiting.push({ call, bytes: post.bytes });
    }
    try {
      this.#work(waiting);
    } catch (error) {
      // Any other error ends the worker, which rejects all calls, so that none waits forever.
      if (!(error instanceof Stopped)) throw error;
    }
  }

  #nextPost(): Post | undefined {
    return receiveMessageOnPort(this.#port)?.message as Post | undefined;
  }

  #work(calls: readonly WaitingCall[]): void {
    for (let waiting = calls; waiting.length > 0; ) {
      const { transfer, ...post } = this.#file.run(waiting);
      waiting = waiting.slice(post.answers.length);
      this.#send(post, transfer);
    }
    this.#lastWorkMs = systemClock.monotonicMs();
    if (!this.#isClosing) return;
    this.#file.close();
    this.#port.close();
  }

  #send(post: WorkerPost, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(post, transfer);
  }

  /** Reports messages that other processes have made due, and tidies up between calls. */
  async #poll(): Promise<void> {
    for (;;) {
      await systemClock.sleepUnref(POLL_MS);
      if (this.#isClosing) return;
      try {
        if (this.#file.isDueByOthers()) this.#send({ answers: [], due: true, damage: [] });
        if (systemClock.monotonicMs() - this.#lastWorkMs > IDLE_MS) this.#file.tidy();
      } catch {
        // The next call reports what is wrong with the file.
      }
    }
  }
}

if (parentPort !== null) new FileThread(parentPort, workerData as WorkerData).listen();
