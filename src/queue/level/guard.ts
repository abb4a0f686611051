/**
 * The folder in the folder while damage is made up for. A lock in it keeps other processes away, since
 * the store's own is not held all that time; the damaged files are in it until what is intact of them
 * is in order; and where the process ends before that, it is there still, and all is done again.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isThere, STORE_FILE } from './files.ts';
import { create, isLocked, type Level, type LevelClass } from './level-class.ts';

export class Guard {
  readonly #folder: string;
  readonly #own: string;
  #lock: Level | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    this.#own = join(folder, 'mending');
  }

  get isHeld(): boolean {
    return this.#lock !== undefined;
  }

  async isThere(): Promise<boolean> {
    return await isThere(this.#own);
  }

  /** Rejects with the store's error where another process has it. */
  async take(Class: LevelClass): Promise<void> {
    if (this.#lock !== undefined) return;
    const lock = join(this.#own, 'lock');
    this.#lock = await opened(Class, lock).catch(async (error: unknown) => {
      if (isLocked(error)) throw error;
      // It is damaged, too: nothing is in it.
      await rm(lock, { recursive: true, force: true });
      return await opened(Class, lock);
    });
  }

  /** It stays there. */
  async leave(): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    await lock?.close();
  }

  /** Where the damaged files are; none are left in the folder itself. */
  async setAside(): Promise<string> {
    const [moving, moved] = [join(this.#own, 'moving'), join(this.#own, 'moved')];
    const isMoved = await isThere(moved);
    if (!isMoved) await mkdir(moving, { recursive: true });
    for (const name of await readdir(this.#folder)) {
      if (!STORE_FILE.test(name)) continue;
      const file = join(this.#folder, name);
      // Once all were moved, what is there is made of them.
      await (isMoved ? rm(file) : rename(file, join(moving, name)));
    }
    if (!isMoved) await rename(moving, moved);
    return moved;
  }

  /** Nobody needs it any more. The damaged files are kept where they can be looked at, those of once. */
  async remove(): Promise<void> {
    await this.leave();
    const [moved, kept] = [join(this.#own, 'moved'), join(this.#folder, 'lost')];
    if (await isThere(moved)) {
      await rm(kept, { recursive: true, force: true });
      await rename(moved, kept);
    }
    await rm(this.#own, { recursive: true });
  }
}

async function opened(Class: LevelClass, folder: string): Promise<Level> {
  await mkdir(folder, { recursive: true });
  return await create(Class, folder);
}
