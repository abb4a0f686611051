/** What is intact of damaged files, as a new store. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DamagedRow } from './damage.ts';
import { kindOf } from './kinds.ts';
import type { Level } from './level-class.ts';
import { unsealed } from './seal.ts';
import { type Reader, readerOf, type Version } from './table-file.ts';

/** So many rows are written at once. */
const PART = 2000;

export type Unreadable = Partial<Record<DamagedRow, number>>;

/** Puts the newest of each row that is intact into `level`; gives how many are there in no version that is. */
export async function salvage(level: Level, from: string): Promise<Unreadable> {
  const rows = new Rows(level);
  for (const name of (await readdir(from)).toSorted()) {
    const read = readerOf(name);
    if (read !== undefined) await rows.add(read, await readFile(join(from, name)));
  }
  await rows.write();
  return rows.unreadable();
}

type Operation =
  | { readonly type: 'put'; readonly key: Buffer; readonly value: Buffer }
  | { readonly type: 'del'; readonly key: Buffer };

class Rows {
  readonly #level: Level;
  /** By its key, when the version was written that counts. */
  readonly #newest = new Map<string, number>();
  readonly #damaged = new Map<string, DamagedRow>();
  #operations: Operation[] = [];

  constructor(level: Level) {
    this.#level = level;
  }

  async add(read: Reader, file: Buffer): Promise<void> {
    try {
      for (const version of read(file)) {
        this.#add(version);
        if (this.#operations.length >= PART) await this.write();
      }
    } catch (error) {
      // What is behind cannot be told apart any more.
      if (!(error instanceof RangeError)) throw error;
    }
  }

  #add({ key, value, sequence }: Version): void {
    const name = key.toString('latin1');
    if (value !== undefined && unsealed(key, value) === undefined) {
      this.#damaged.set(name, kindOf(key));
      return;
    }
    if ((this.#newest.get(name) ?? -1) >= sequence) return;
    this.#newest.set(name, sequence);
    this.#operations.push(value === undefined ? { type: 'del', key } : { type: 'put', key, value });
  }

  async write(): Promise<void> {
    const operations = this.#operations;
    this.#operations = [];
    await this.#level.batch(operations, { sync: true });
  }

  unreadable(): Unreadable {
    const counts: Unreadable = {};
    for (const [name, kind] of this.#damaged) {
      if (!this.#newest.has(name)) counts[kind] = (counts[kind] ?? 0) + 1;
    }
    return counts;
  }
}
