/** Worlds whose queue is in a folder of this machine: real files, on the clock of the world. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLevelQueue } from '../../src/queue/level.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import { copyAsKilled } from '../helpers/copy-as-killed.ts';
import type { Backing, Handle, Looked, MakeBacking } from './backing.ts';
import { SOUND, type Spoil } from './flaws.ts';
import type { Scenario } from './scenario.ts';
import { UnderWay } from './under-way.ts';

const INITIAL = { tier: 'healthy', maxMessages: 1, maxBytes: 1, circuitBreaker: null } as const;

interface Choices {
  readonly spoil?: Spoil;
  /** Of the folder that a crash leaves. */
  readonly spoilFolder?: (path: string) => void;
}

export const inFolder = (choices: Choices = {}): MakeBacking => ({
  kind: 'level',
  make: (clock, scenario) => new Folder(clock, scenario, choices),
});

class Folder implements Backing {
  readonly kind = 'level';
  readonly hearsLateMs = 0;
  readonly #clock: FakeClock;
  readonly #scenario: Scenario;
  readonly #choices: Choices;
  readonly #underWay = new UnderWay();
  readonly #root = mkdtempSync(join(tmpdir(), 'simulated-'));
  #lives = 0;
  /** Of the process that is alive. */
  #open: MessageQueue | undefined;
  readonly #all: MessageQueue[] = [];

  constructor(clock: FakeClock, scenario: Scenario, choices: Choices) {
    this.#clock = clock;
    this.#scenario = scenario;
    this.#choices = choices;
  }

  get #path(): string {
    return join(this.#root, String(this.#lives));
  }

  attach(): Handle {
    const { maxPendingMessages } = this.#scenario;
    const { spoil = SOUND } = this.#choices;
    // What a sync is for no simulation sees.
    const options = { folder: this.#path, sync: false, maxPendingMessages };
    const made = createLevelQueue(options, this.#clock);
    this.#all.push(made);
    const queue = this.#underWay.watch(spoil(made), () => Promise.resolve());
    const opened = new Proxy(queue, {
      get: (target, name) => {
        if (name === 'open') this.#open = queue;
        if (name === 'close') this.#open = undefined;
        return Reflect.get(target, name, target) as unknown;
      },
    });
    return { queue: opened, drop: () => this.#died() };
  }

  /**
   * As kill -9 leaves it once what was being written is: the process hears of none of it, nothing is
   * released, and the next one opens what is on the disk.
   */
  #died(): void {
    this.#open = undefined;
    const before = this.#path;
    void this.#underWay.whenOver(() => {
      this.#lives += 1;
      copyAsKilled(before, this.#path);
      this.#choices.spoilFolder?.(this.#path);
    });
  }

  look(): Looked | undefined {
    return this.#open;
  }

  readonly alone = (): (() => boolean) => this.#underWay.alone();
  readonly rest = (): Promise<void> => this.#underWay.rest();

  readonly lookAfterwards = async (): Promise<Looked> => {
    const { queue } = this.attach();
    await queue.open(INITIAL);
    return queue;
  };

  readonly end = async (): Promise<void> => {
    for (const queue of this.#all) await queue.close();
    rmSync(this.#root, { recursive: true });
  };
}
