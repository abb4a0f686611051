/**
 * Worlds whose queue is an SQLite file. The queue reads the clock of the world. All handles of a file in
 * one process share one worker, so a crash of one of several processes drops its handle without `close`,
 * and what it claimed waits for the end of its lease. A crash of the only process leaves what kill -9
 * would: the world goes on with a copy of the files as they are at that moment.
 */
import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { createSqliteQueue } from '../../src/queue/sqlite.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import { copyAsKilled } from '../queue/sqlite/copy-as-killed.ts';
import type { Backing, Handle, Looked, MakeBacking } from './backing.ts';
import { SOUND, type Spoil } from './flaws.ts';
import type { Scenario } from './scenario.ts';
import { UnderWay } from './under-way.ts';

const INITIAL = { tier: 'untried', maxMessages: 1, maxBytes: 1, circuitBreaker: null } as const;

interface Planted {
  readonly spoil?: Spoil;
  /** A crash loses what was written last, as if a commit were answered before it was written. */
  readonly losesLastWrite?: boolean;
  readonly onCopy?: () => void;
}

export const inFile = (planted: Planted = {}): MakeBacking => ({
  kind: 'sqlite',
  make: (clock, scenario) => new File(clock, scenario, planted),
});

class File implements Backing {
  readonly kind = 'sqlite';
  readonly hearsLateMs = 0;
  readonly isOnWallClock = true;
  readonly #clock: FakeClock;
  readonly #scenario: Scenario;
  readonly #planted: Planted;
  readonly #underWay = new UnderWay();
  readonly #folder = mkdtempSync(join(tmpdir(), 'simulated-'));
  readonly #all: MessageQueue[] = [];
  #file = join(this.#folder, 'queue.db');
  #observer: MessageQueue;
  #looked: Looked | undefined;
  /** Sizes of the write-ahead log, as the calls that ended saw it. */
  #logBytes = 0;
  #logBytesBefore = 0;

  constructor(clock: FakeClock, scenario: Scenario, planted: Planted) {
    this.#clock = clock;
    this.#scenario = scenario;
    this.#planted = planted;
    this.#observer = this.#made();
  }

  readonly begin = async (): Promise<void> => {
    await this.#observer.open(INITIAL);
    this.#looked = this.#watched(this.#observer);
  };

  #made(): MessageQueue {
    const { maxPendingMessages } = this.#scenario;
    // A simulation cannot show what a sync is for.
    const options = { file: this.#file, sync: false, maxPendingMessages };
    const made = createSqliteQueue(options, this.#clock);
    this.#all.push(made);
    return made;
  }

  #watched(queue: MessageQueue): MessageQueue {
    return this.#underWay.watch(queue, () => {
      this.#noteLog();
      return Promise.resolve();
    });
  }

  #noteLog(): void {
    const bytes = statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes === this.#logBytes) return;
    this.#logBytesBefore = this.#logBytes;
    this.#logBytes = bytes;
  }

  attach(): Handle {
    const { spoil = SOUND } = this.#planted;
    return { queue: this.#watched(spoil(this.#made())), drop: () => this.#crash() };
  }

  /** A call under way may be done or not: then nobody could say what the copy has to hold. */
  #crash(): void {
    if (this.#scenario.processes.length > 1 || !this.#underWay.isIdle) return;
    const copy = join(this.#folder, `copy-${this.#all.length}.db`);
    copyAsKilled(this.#file, copy);
    this.#noteLog();
    if (this.#planted.losesLastWrite === true && this.#logBytesBefore < this.#logBytes)
      truncateSync(`${copy}-wal`, this.#logBytesBefore);
    this.#file = copy;
    this.#logBytes = 0;
    this.#looked = undefined;
    this.#observer = this.#made();
    void this.#underWay.track(this.begin);
    this.#planted.onCopy?.();
  }

  look(): Looked | undefined {
    return this.#looked;
  }

  readonly alone = (): (() => boolean) => this.#underWay.alone();
  readonly rest = (): Promise<void> => this.#underWay.rest();
  readonly lookAfterwards = (): Promise<Looked> => Promise.resolve(this.#observer);

  readonly end = async (): Promise<void> => {
    for (const queue of this.#all) await queue.close();
    rmSync(this.#folder, { recursive: true });
  };
}
