/** The folder on disk: opened by one process, written in groups, and opened anew after a failed write. */
import { chmod, mkdir } from 'node:fs/promises';
import type { ClassicLevel } from 'classic-level';
import { SecurityEventError } from '../../errors.ts';
import type { GiveWay } from '../../system/giving-way.ts';
import { optionalImport } from '../../system/optional-import.ts';
import type { Range } from './keys.ts';

type Level = ClassicLevel<Buffer, Buffer>;
type LevelClass = new (
  location: string,
  options: { readonly keyEncoding: 'buffer'; readonly valueEncoding: 'buffer' },
) => Level;

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

export interface StoreOptions {
  readonly giveWay: GiveWay;
  readonly folder: string;
  readonly sync: boolean;
  /** Stands in for the package in tests. */
  readonly load: () => Promise<{ readonly ClassicLevel: LevelClass }>;
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
  #level: Level | undefined;
  #waiting: Waiting[] = [];
  #isWriting = false;
  /** Whether a write has failed since the folder was opened. */
  #hasFailed = false;
  /** Gives the rows that go with any write, as they are when it begins. */
  #alsoWrite: () => Operation[] = () => [];

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  get isUsable(): boolean {
    return this.#level !== undefined && !this.#hasFailed;
  }

  /** What is in memory is no more what the folder holds: it is to be opened anew. */
  distrust(): void {
    this.#hasFailed = true;
  }

  async open(alsoWrite: () => Operation[]): Promise<void> {
    const { folder, load } = this.#options;
    this.#alsoWrite = alsoWrite;
    const { ClassicLevel } = await optionalImport('classic-level', load);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // What waits holds personal data: it is nobody's but the owner's, also where the folder was there.
      await chmod(folder, 0o700);
      const encodings = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;
      const level = new ClassicLevel(folder, encodings);
      await level.open();
      this.#level = level;
      this.#hasFailed = false;
    } catch (error) {
      throw isLocked(error) ? lockedBySomebody(folder, error) : failed(error);
    }
  }

  /** Waits for what is being written; what waits for a turn is written yet. */
  async close(): Promise<void> {
    const level = this.#level;
    this.#level = undefined;
    await level?.close().catch((error: unknown) => {
      throw failed(error);
    });
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

  async #writeGroup(group: readonly Waiting[]): Promise<SecurityEventError | undefined> {
    const { sync, onWrite } = this.#options;
    const names = new Set(group.map(({ name }) => name));
    try {
      // What has failed once may have left half of the store behind: see `LevelQueue`.
      if (!this.isUsable) return failed(undefined);
      // As they are now: what is done to them from here on goes with the next write.
      const rows = this.#alsoWrite();
      for (const { make } of group) if (make !== undefined) await make();
      const operations = [...group.map((one) => one.operations), rows].flat();
      onWrite('before', names);
      await this.#put(this.#level as Level, operations, { sync });
      onWrite('after', names);
      return undefined;
    } catch (error) {
      this.#hasFailed = true;
      return error instanceof SecurityEventError ? error : failed(error);
    }
  }

  /** All at once a hundred thousand would hold the event loop for seconds: only the end is one step. */
  async #put(
    level: Level,
    operations: readonly Operation[],
    options: { sync: boolean },
  ): Promise<void> {
    if (operations.length <= SMALL) {
      await level.batch([...operations], options);
      return;
    }
    const batch = level.batch();
    try {
      for (const [index, operation] of operations.entries()) {
        if (index % SMALL === 0) await this.#options.giveWay();
        if (operation.type === 'put') batch.put(operation.key, operation.value);
        else batch.del(operation.key);
      }
      await batch.write(options);
    } finally {
      await batch.close();
    }
  }

  async get(key: Buffer): Promise<Buffer | undefined> {
    return await this.#reading((level) => level.get(key));
  }

  async getMany(keys: readonly Buffer[]): Promise<(Buffer | undefined)[]> {
    if (keys.length === 0) return [];
    const values: (Buffer | undefined)[] = [];
    for (let start = 0; start < keys.length; start += SMALL) {
      const part = keys.slice(start, start + SMALL);
      const found = await this.#reading((level) => level.getMany(part));
      for (const value of found) values.push(value);
    }
    return values;
  }

  /** In the order of keys, at most `limit`, in chunks of what is read at once. */
  async *chunks(
    range: Range,
    limit = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<readonly Entry[], void, undefined> {
    const size = Math.min(CHUNK, limit);
    const iterator = await this.#reading(async (level) =>
      level.iterator({
        ...range,
        limit: Number.isFinite(limit) ? limit : -1,
        highWaterMarkBytes: READ_AHEAD_BYTES,
      }),
    );
    try {
      for (;;) {
        const chunk = await this.#reading(() => iterator.nextv(size));
        if (chunk.length === 0) return;
        yield chunk;
      }
    } finally {
      await iterator.close();
    }
  }

  /** One by one. */
  async *entries(range: Range, limit?: number): AsyncGenerator<Entry, void, undefined> {
    for await (const chunk of this.chunks(range, limit)) yield* chunk;
  }

  async #reading<T>(read: (level: Level) => Promise<T>): Promise<T> {
    if (this.#level === undefined) throw failed(undefined);
    try {
      return await read(this.#level);
    } catch (error) {
      throw failed(error);
    }
  }
}

const failed = (cause: unknown): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', cause === undefined ? {} : { cause });

interface LevelError {
  readonly code?: unknown;
  readonly cause?: LevelError;
}

function isLocked(error: unknown): boolean {
  const { code, cause } = error as LevelError;
  return code === 'LEVEL_LOCKED' || cause?.code === 'LEVEL_LOCKED';
}

function lockedBySomebody(folder: string, cause: unknown): SecurityEventError {
  return new SecurityEventError('ERR_QUEUE_LOCKED', { detail: folder, cause });
}
