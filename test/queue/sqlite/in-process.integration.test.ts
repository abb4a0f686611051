/**
 * The conformance suite with the worker's code in this thread, where coverage and mutants see it. The
 * worker itself runs from a generated text: sqlite.integration.test.ts tests that.
 */
import type { MessagePort, WorkerOptions } from 'node:worker_threads';
import { vi } from 'vitest';
import type { WorkerData } from '../../../src/queue/sqlite/protocol.ts';
import { describeSqliteConformance } from './describe-sqlite-conformance.ts';

vi.mock('node:worker_threads', async (importOriginal) => {
  const { EventEmitter } = await import('node:events');
  const threads = await importOriginal<typeof import('node:worker_threads')>();

  /** Takes the place of a Worker whose text is the worker's code. */
  class InProcessWorker extends EventEmitter {
    readonly #port: MessagePort;

    constructor(_text: string, { workerData }: WorkerOptions) {
      super();
      const { port1, port2 } = new threads.MessageChannel();
      this.#port = port1;
      port1.on('message', (post) => this.emit('message', post));
      port1.on('close', () => this.emit('exit', 0));
      void import('../../../src/queue/sqlite/worker/main.ts').then(({ FileThread }) =>
        new FileThread(port2, workerData as WorkerData).listen(),
      );
    }

    postMessage(post: unknown, transfer: ArrayBuffer[]): void {
      this.#port.postMessage(post, transfer);
    }

    ref(): void {
      this.#port.ref();
    }

    unref(): void {
      this.#port.unref();
    }
  }
  return { ...threads, parentPort: null, Worker: InProcessWorker };
});

describeSqliteConformance('the worker of an SQLite file');
