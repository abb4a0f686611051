/**
 * Worlds with an SQLite queue, which reads the world's clock. All handles of a file in one process share a
 * worker. A crash of one of several processes therefore only drops its handle without `close`, and its
 * claims wait until their leases expire. A crash of the only process acts like kill -9: the world continues
 * with a copy of the files at that moment.
 */
import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { createSqliteQueue } from '../../src/queue/sqlite.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import { HEALTHY } from '../helpers/raw-entries.ts';
import { copyAsKilled } from '../queue/sqlite/copy-as-killed.ts';
import { CallsInProgress } from './calls-in-progress.ts';
import type { Handle, MakeBackend, QueueBackend, QueueView } from './queue-backend.ts';
import type { Scenario } from './scenario.ts';

interface BackendOptions {
  /** Planted bug: a crash loses the last write, as if a commit returned before it was written. */
  readonly losesLastWrite?: boolean;
  readonly onCopy?: () => void;
}

export const sqliteBackend = (options: BackendOptions = {}): MakeBackend => ({
  kind: 'sqlite',
  make: (clock, scenario) => new SqliteBackend(clock, scenario, options),
});

class SqliteBackend implements QueueBackend {
  readonly calls = new CallsInProgress();
  readonly #clock: FakeClock;
  readonly #scenario: Scenario;
  readonly #options: BackendOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), 'simulated-'));
  readonly #all: MessageQueue[] = [];
  #file = join(this.#folder, 'queue.db');
  observer: MessageQueue;
  #view: QueueView | undefined;
  /** Sizes of the write-ahead log after the last and the previous change. */
  #logBytes = 0;
  #logBytesBefore = 0;

  constructor(clock: FakeClock, scenario: Scenario, options: BackendOptions) {
    this.#clock = clock;
    this.#scenario = scenario;
    this.#options = options;
    this.observer = this.#newQueue();
  }

  readonly setUp = async (): Promise<void> => {
    await this.observer.open(HEALTHY);
    this.#view = this.#watched(this.observer);
  };

  #newQueue(): MessageQueue {
    const { maxPendingMessages } = this.#scenario;
    // A simulation cannot lose unsynced writes, so it skips the sync.
    const queueOptions = { file: this.#file, sync: false, maxPendingMessages };
    const made = createSqliteQueue(queueOptions, this.#clock);
    this.#all.push(made);
    return made;
  }

  #watched(queue: MessageQueue): MessageQueue {
    return this.calls.watch(queue, () => {
      this.#recordLogSize();
      return Promise.resolve();
    });
  }

  #recordLogSize(): void {
    const bytes = statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes === this.#logBytes) return;
    this.#logBytesBefore = this.#logBytes;
    this.#logBytes = bytes;
  }

  attach(): Handle {
    return { queue: this.#watched(this.#newQueue()), drop: () => this.#crash() };
  }

  /** Only while idle: whether the copy contains a call in progress would be undefined. */
  #crash(): void {
    if (this.#scenario.processes.length > 1 || !this.calls.isIdle) return;
    const copy = join(this.#folder, `copy-${this.#all.length}.db`);
    copyAsKilled(this.#file, copy);
    this.#recordLogSize();
    if (this.#options.losesLastWrite === true && this.#logBytesBefore < this.#logBytes)
      truncateSync(`${copy}-wal`, this.#logBytesBefore);
    this.#file = copy;
    this.#logBytes = 0;
    this.#view = undefined;
    this.observer = this.#newQueue();
    void this.calls.track(this.setUp);
    this.#options.onCopy?.();
  }

  view(): QueueView | undefined {
    return this.#view;
  }

  readonly tearDown = async (): Promise<void> => {
    for (const queue of this.#all) await queue.close();
    rmSync(this.#folder, { recursive: true });
  };
}
