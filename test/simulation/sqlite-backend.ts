/**
 * Worlds with an SQLite queue, which reads the world's clock without its jumps. All handles of a file in one process share a
 * worker. A crash of one of several processes therefore only drops its handle without `close`, and its
 * claims wait until their leases expire. A crash of the only process acts like kill -9: the world continues
 * with a copy of the files at that moment.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { createSqliteQueue } from '../../src/queue/sqlite.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import { copyAsKilled } from '../queue/sqlite/copy-as-killed.ts';
import { CallsInProgress } from './calls-in-progress.ts';
import type { Handle, MakeBackend, QueueBackend } from './queue-backend.ts';
import type { Scenario } from './scenario.ts';

/** `onCopy` is called when a crash has copied the files. */
export const sqliteBackend = (onCopy = (): void => {}): MakeBackend => ({
  kind: 'sqlite',
  make: (clock, scenario) => new SqliteBackend(clock, scenario, onCopy),
});

class SqliteBackend implements QueueBackend {
  readonly kind = 'sqlite';
  readonly #clock: FakeClock;
  readonly #scenario: Scenario;
  readonly #onCopy: () => void;
  readonly #callsInProgress = new CallsInProgress();
  readonly #folder = mkdtempSync(join(tmpdir(), 'simulated-'));
  readonly #all: MessageQueue[] = [];
  #file = join(this.#folder, 'queue.db');

  constructor(clock: FakeClock, scenario: Scenario, onCopy: () => void) {
    this.#clock = clock;
    this.#scenario = scenario;
    this.#onCopy = onCopy;
  }

  #newQueue(): MessageQueue {
    const { maxPendingMessages } = this.#scenario;
    // A simulation cannot lose unsynced writes, so it skips the sync.
    const queueOptions = { file: this.#file, sync: false, maxPendingMessages };
    // Not the wall clock, which jumps.
    const made = createSqliteQueue(queueOptions, { now: () => this.#clock.monotonicMs() });
    this.#all.push(made);
    return made;
  }

  attach(): Handle {
    const queue = this.#callsInProgress.watch(this.#newQueue());
    return { queue, drop: () => this.#crash() };
  }

  /** Only while idle: whether the copy contains a call in progress would be undefined. */
  #crash(): void {
    if (this.#scenario.processes.length > 1 || !this.#callsInProgress.isIdle) return;
    const copy = join(this.#folder, `copy-${this.#all.length}.db`);
    copyAsKilled(this.#file, copy);
    this.#file = copy;
    this.#onCopy();
  }

  readonly watchForOverlap = (): (() => boolean) => this.#callsInProgress.watchForOverlap();
  readonly untilIdle = (): Promise<void> => this.#callsInProgress.untilIdle();

  readonly tearDown = async (): Promise<void> => {
    for (const queue of this.#all) await queue.close();
    rmSync(this.#folder, { recursive: true });
  };
}
