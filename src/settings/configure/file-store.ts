/** Keeps a configuration in a file. */
import * as nodeFiles from 'node:fs/promises';
import { dirname } from 'node:path';
import { SecurityEventError } from '../../errors.ts';
import { systemClock } from '../../system/clock.ts';
import { systemRandom } from '../../system/random.ts';
import { ignoreMissing, type Lock, type LockSystem, lockFile, removeFile } from './file-lock.ts';
import type { SettingsStore } from './store.ts';

/** Nobody but its owner reads a file with secrets. */
const MODE = 0o600;

const SYSTEM: LockSystem = { files: nodeFiles, clock: systemClock, random: systemRandom };

/**
 * The new text is written beside the file, forced to the disk, and put in its place by renaming: whoever
 * reads, and whenever this process is killed, there is the old text or the new one, whole.
 */
export function fileStore(path: string, system: LockSystem = SYSTEM): SettingsStore {
  const { files } = system;
  let writing: Promise<unknown> = Promise.resolve();
  return {
    read: () => wrapped(() => readText(path, files)),
    update(change) {
      // One after the other here, so that only other processes are waited for by looking again.
      const done = writing.then(() => wrapped(() => updateFile(path, change, system)));
      writing = done.catch(() => undefined);
      return done;
    },
  };
}

async function updateFile(
  path: string,
  change: (text: string | undefined) => string | undefined,
  system: LockSystem,
): Promise<void> {
  const { files } = system;
  // Where it is a link, what it leads to is replaced, and not the link.
  const target = (await files.realpath(path).catch(ignoreMissing)) ?? path;
  const lock = await lockFile(target, system);
  try {
    const before = await readText(target, files);
    const after = change(before);
    if (after !== undefined && after !== before) await replace(target, after, { lock, ...system });
  } finally {
    await lock.release();
  }
}

async function replace(
  path: string,
  text: string,
  { lock, files }: Pick<LockSystem, 'files'> & { readonly lock: Lock },
): Promise<void> {
  try {
    const handle = await files.open(lock.temporaryPath, 'wx', MODE);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (!(await lock.isHeld())) {
      throw new SecurityEventError('ERR_CONFIGURATION_FAILED', { detail: 'writing took too long' });
    }
    await files.rename(lock.temporaryPath, path);
  } catch (error) {
    await removeFile(lock.temporaryPath, files);
    throw error;
  }
  await syncFolder(dirname(path), files);
}

/** So that the renaming outlasts a loss of power; some systems cannot. */
async function syncFolder(folder: string, files: LockSystem['files']): Promise<void> {
  try {
    const handle = await files.open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // The new text is in its place all the same.
  }
}

const readText = (path: string, files: LockSystem['files']): Promise<string | undefined> =>
  files.readFile(path, 'utf8').catch(ignoreMissing);

async function wrapped<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof SecurityEventError) throw cause;
    throw new SecurityEventError('ERR_CONFIGURATION_FAILED', { cause });
  }
}
