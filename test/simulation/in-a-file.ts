/**
 * Worlds whose queue is an SQLite file. The queue reads the clock of the world. All handles of a file in
 * one process share one worker, so a process that crashes drops its handle without `close`, and what it
 * claimed waits for the end of its lease.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { createSqliteQueue } from '../../src/queue/sqlite.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import type { Backing, Handle, Looked, MakeBacking } from './backing.ts';
import { SOUND, type Spoil } from './flaws.ts';
import type { Scenario } from './scenario.ts';
import { UnderWay } from './under-way.ts';

const INITIAL = { tier: 'healthy', maxMessages: 1, maxBytes: 1, circuitBreaker: null } as const;

export const inFile = (spoil: Spoil = SOUND): MakeBacking => ({
  kind: 'sqlite',
  make: (clock, scenario) => new File(clock, scenario, spoil),
});

class File implements Backing {
  readonly kind = 'sqlite';
  readonly hearsLateMs = 0;
  readonly isOnWallClock = true;
  readonly #clock: FakeClock;
  readonly #scenario: Scenario;
  readonly #spoil: Spoil;
  readonly #underWay = new UnderWay();
  readonly #folder = mkdtempSync(join(tmpdir(), 'simulated-'));
  readonly #all: MessageQueue[] = [];
  readonly #observer: MessageQueue;
  #looked: Looked | undefined;

  constructor(clock: FakeClock, scenario: Scenario, spoil: Spoil) {
    this.#clock = clock;
    this.#scenario = scenario;
    this.#spoil = spoil;
    this.#observer = this.#made();
  }

  readonly begin = async (): Promise<void> => {
    await this.#observer.open(INITIAL);
    this.#looked = this.#watched(this.#observer);
  };

  #made(): MessageQueue {
    const { maxPendingMessages } = this.#scenario;
    // A simulation cannot show what a sync is for.
    const options = { file: join(this.#folder, 'queue.db'), sync: false, maxPendingMessages };
    const made = createSqliteQueue(options, this.#clock);
    this.#all.push(made);
    return made;
  }

  #watched(queue: MessageQueue): MessageQueue {
    return this.#underWay.watch(queue, () => Promise.resolve());
  }

  attach(): Handle {
    return { queue: this.#watched(this.#spoil(this.#made())), drop: () => {} };
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
