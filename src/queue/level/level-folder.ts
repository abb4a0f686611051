/** The folder on disk, opened by one process; what is known of damage in it, until that is made up for. */
import { chmod, mkdir } from 'node:fs/promises';
import { SecurityEventError } from '../../errors.ts';
import { optionalImport } from '../../system/optional-import.ts';
import type { DamagedRow, DamageSign } from './damage.ts';
import { Guard } from './guard.ts';
import { isLocked, type Level, type LevelClass } from './level-class.ts';
import { isDamage, openStore } from './opening.ts';
import { takeFolder } from './own-folder.ts';
import type { Unreadable } from './salvage.ts';

export interface FolderOptions {
  readonly folder: string;
  /** Stands in for the package in tests. */
  readonly load: () => Promise<{ readonly ClassicLevel: LevelClass }>;
}

export class LevelFolder {
  readonly #options: FolderOptions;
  readonly #guard: Guard;
  readonly #signs = new Set<DamageSign>();
  #suspicions = 0;
  #areFilesDamaged = false;
  #unreadable: Unreadable = {};
  #level: Level | undefined;

  constructor(options: FolderOptions) {
    this.#options = options;
    this.#guard = new Guard(options.folder);
  }

  get isOpen(): boolean {
    return this.#level !== undefined;
  }

  /** By what damage was noticed since it was made up for. */
  get signs(): ReadonlySet<DamageSign> {
    return this.#signs;
  }

  /** How many rows could not be read in files that were damaged. */
  get unreadable(): Readonly<Unreadable> {
    return this.#unreadable;
  }

  /** Raised each time that damage is noticed. */
  get suspicions(): number {
    return this.#suspicions;
  }

  /** Whether opening the folder is to make new files of what is intact. */
  get areFilesDamaged(): boolean {
    return this.#areFilesDamaged;
  }

  /** Something is not as it was written: all is to be looked through before the next call. */
  suspect(sign: DamageSign): void {
    this.#signs.add(sign);
    // Only a new store is free of what is not as it was written: see `versionsOfTable`.
    if (sign === 'rows') this.#areFilesDamaged = true;
    this.#suspicions += 1;
  }

  async open(): Promise<void> {
    const { folder, load } = this.#options;
    const { ClassicLevel } = await optionalImport('classic-level', load);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await takeFolder(folder, await this.#guard.isThere());
      // What waits holds personal data: it is nobody's but the owner's, also where the folder was there.
      await chmod(folder, 0o700);
      await this.#openFiles(ClassicLevel);
    } catch (error) {
      await this.close().catch(() => {});
      if (isLocked(error)) throw lockedBySomebody(folder, error);
      throw error instanceof SecurityEventError ? error : failed(error);
    }
  }

  async #openFiles(Class: LevelClass): Promise<void> {
    const opening = { guard: this.#guard, isDamaged: this.#areFilesDamaged };
    const { level, signs, unreadable } = await openStore(Class, this.#options.folder, opening);
    this.#level = level;
    this.#areFilesDamaged = false;
    // What this process did not finish itself is nothing new.
    const isKnown = this.#signs.size > 0;
    for (const sign of signs) this.suspect(sign === 'unfinished' && isKnown ? 'files' : sign);
    for (const [kind, count] of Object.entries(unreadable)) {
      this.#unreadable[kind as DamagedRow] = (this.#unreadable[kind as DamagedRow] ?? 0) + count;
    }
    // Another process may have begun to make up for damage meanwhile: then this one is refused.
    if (await this.#guard.isThere()) await this.#guard.take(Class);
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    const level = this.#level;
    this.#level = undefined;
    try {
      await level?.close();
      await this.#guard.leave();
    } catch (error) {
      throw failed(error);
    }
  }

  /** To be called before anything is changed to make up for damage. */
  async beginMending(): Promise<void> {
    await this.use(async () => {
      const { ClassicLevel } = await this.#options.load();
      await this.#guard.take(ClassicLevel);
    });
  }

  async endMending(): Promise<void> {
    this.#signs.clear();
    this.#unreadable = {};
    await this.use(() => this.#guard.remove());
  }

  /** What it throws is thrown as ours, and is looked at for damage. */
  async use<T>(work: (level: Level) => Promise<T>): Promise<T> {
    if (this.#level === undefined) throw failed(undefined);
    try {
      return await work(this.#level);
    } catch (error) {
      if (error instanceof SecurityEventError) throw error;
      if (await isDamage(error, this.#options.folder)) {
        this.#areFilesDamaged = true;
        this.suspect('files');
      }
      throw failed(error);
    }
  }
}

const failed = (cause: unknown): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', cause === undefined ? {} : { cause });

function lockedBySomebody(folder: string, cause: unknown): SecurityEventError {
  return new SecurityEventError('ERR_QUEUE_LOCKED', { detail: folder, cause });
}
