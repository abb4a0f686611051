/** The rows on disk: written in groups, and opened anew after a failed write. */
import { SecurityEventError } from '../../errors.ts';
import type { GiveWay } from '../../system/giving-way.ts';
import type { Range } from './keys.ts';
import type { Level } from './level-class.ts';
import { type FolderOptions, LevelFolder } from './level-folder.ts';
import { sealed, unsealed } from './seal.ts';

export type Operation =
  | { readonly type: 'put'; readonly key: Buffer; readonly value: Buffer }
  | { readonly type: 'del'; readonly key: Buffer };

/** What is written for, so that tests can break off each. */
export type WriteName =
  | 'open'
  | 'enqueue'
  | 'claim'
  | 'settle'
  | 'release'
  | 'lease-over'
  | 'expire'
  | 'close-application'
  | 'reopen'
  | 'replay'
  | 'purge'
  | 'evict'
  | 'incident';

export interface StoreOptions extends FolderOptions {
  readonly giveWay: GiveWay;
  readonly sync: boolean;
  /** Called before and after each write with what it is for, for tests that end the process there. */
  readonly onWrite: (moment: 'before' | 'after', names: ReadonlySet<WriteName>) => void;
}

/** A key and its value. */
export type Entry = readonly [Buffer, Buffer];

interface Waiting {
  readonly name: WriteName;
  readonly operations: readonly Operation[];
  /** Makes them when it is their turn. */
  readonly make?: (() => Promise<void>) | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Operations that are handed over in one go. */
const SMALL = 500;

/** Entries that are read at once: enough for most claims. */
const CHUNK = 250;

/** One iterator holds at most so much of values that are read ahead. */
const READ_AHEAD_BYTES = 1024 * 1024;

export class Store {
  readonly #options: StoreOptions;
  readonly folder: LevelFolder;
  #waiting: Waiting[] = [];
  #isWriting = false;
  /** Whether a write has failed since the folder was opened. */
  #hasFailed = false;
  /** Gives the rows that go with any write, as they are when it begins. */
  #alsoWrite: () => Operation[] = () => [];

  constructor(options: StoreOptions) {
    this.#options = options;
    this.folder = new LevelFolder(options);
  }

  get isUsable(): boolean {
    return this.folder.isOpen && !this.#hasFailed;
  }

  /** What was counted is what was written. */
  get isAtRest(): boolean {
    return this.isUsable && !this.#isWriting;
  }

  /** What is in memory is no more what the folder holds: it is to be opened anew. */
  distrust(): void {
    this.#hasFailed = true;
  }

  async open(alsoWrite: () => Operation[]): Promise<void> {
    this.#alsoWrite = alsoWrite;
    await this.folder.open();
    this.#hasFailed = false;
  }

  /** Waits for what is being written; what waits for a turn is written yet. */
  async close(): Promise<void> {
    await this.folder.close();
  }

  /**
   * All of `operations` or none of them, in the order of the calls. Writes that come while another
   * one is under way are one write, with one sync. What takes long to make can be made by `make` when
   * its place in that order is sure.
   */
  async write(
    name: WriteName,
    operations: readonly Operation[],
    make?: () => Promise<void>,
  ): Promise<void> {
    if (!this.isUsable) throw failed(undefined);
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ name, operations, make, resolve, reject });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      const error = await this.#writeGroup(group);
      for (const { resolve, reject } of group) {
        if (error === undefined) resolve();
        else reject(error);
      }
    }
    this.#isWriting = false;
  }

  async #writeGroup(group: readonly Waiting[]): Promise<unknown> {
    const { onWrite } = this.#options;
    const names = new Set(group.map(({ name }) => name));
    try {
      await this.folder.use(async (level) => {
        // What has failed once may have left half of the store behind: see `LevelQueue`.
        if (this.#hasFailed) throw failed(undefined);
        // As they are now: what is done to them from here on goes with the next write.
        const rows = this.#alsoWrite();
        for (const { make } of group) if (make !== undefined) await make();
        const operations = [...group.map((one) => one.operations), rows].flat();
        onWrite('before', names);
        await this.#put(level, operations);
        onWrite('after', names);
      });
      return undefined;
    } catch (error) {
      this.#hasFailed = true;
      return error;
    }
  }

  /** Without the rows that go with any write: of what is in memory nothing is known yet. */
  async repair(operations: readonly Operation[]): Promise<void> {
    await this.folder.use((level) => this.#put(level, operations));
  }

  /** All at once a hundred thousand would hold the event loop for seconds: only the end is one step. */
  async #put(level: Level, operations: readonly Operation[]): Promise<void> {
    const { sync } = this.#options;
    if (operations.length <= SMALL) {
      await level.batch(operations.map(withSeal), { sync });
      return;
    }
    const batch = level.batch();
    try {
      for (const [index, operation] of operations.entries()) {
        if (index % SMALL === 0) await this.#options.giveWay();
        const { key } = operation;
        if (operation.type === 'put') batch.put(key, sealed(key, operation.value));
        else batch.del(key);
      }
      await batch.write({ sync });
    } finally {
      await batch.close();
    }
  }

  async get(key: Buffer): Promise<Buffer | undefined> {
    const row = await this.getRaw(key);
    return row && this.#intact(key, row);
  }

  /** Of what is not as it was written, `undefined`. */
  async getMany(keys: readonly Buffer[]): Promise<(Buffer | undefined)[]> {
    if (keys.length === 0) return [];
    const values: (Buffer | undefined)[] = [];
    for (let start = 0; start < keys.length; start += SMALL) {
      const part = keys.slice(start, start + SMALL);
      const rows = await this.folder.use((level) => level.getMany(part));
      for (const [index, row] of rows.entries()) {
        values.push(row && this.#intact(part[index] as Buffer, row));
      }
    }
    return values;
  }

  /** As it lies there. */
  async getRaw(key: Buffer): Promise<Buffer | undefined> {
    return await this.folder.use((level) => level.get(key));
  }

  #intact(key: Buffer, row: Buffer): Buffer | undefined {
    const value = unsealed(key, row);
    if (value === undefined) this.folder.suspect('rows');
    return value;
  }

  /** In the order of keys, at most `limit`, in chunks of what is read at once; never an empty one. */
  async *chunks(
    range: Range,
    limit = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<readonly Entry[], void, undefined> {
    const size = Math.min(CHUNK, limit);
    const iterator = await this.folder.use(async (level) =>
      level.iterator({
        ...range,
        limit: Number.isFinite(limit) ? limit : -1,
        highWaterMarkBytes: READ_AHEAD_BYTES,
      }),
    );
    try {
      for (;;) {
        const rows = await this.folder.use(() => iterator.nextv(size));
        if (rows.length === 0) return;
        const intact = rows.flatMap(([key, row]): Entry[] => {
          const value = this.#intact(key, row);
          return value === undefined ? [] : [[key, value]];
        });
        if (intact.length > 0) yield intact;
      }
    } finally {
      await iterator.close();
    }
  }

  /** One by one. */
  async *entries(range: Range, limit?: number): AsyncGenerator<Entry, void, undefined> {
    for await (const chunk of this.chunks(range, limit)) yield* chunk;
  }
}

const withSeal = (operation: Operation): Operation =>
  operation.type === 'del'
    ? operation
    : { ...operation, value: sealed(operation.key, operation.value) };

const failed = (cause: unknown): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', cause === undefined ? {} : { cause });
