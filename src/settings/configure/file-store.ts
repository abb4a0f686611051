/** Keeps a configuration in a file. */
import type { FileHandle } from 'node:fs/promises';
import * as nodeFiles from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { SecurityEventError } from '../../errors.ts';
import { systemClock } from '../../runtime/clock.ts';
import { systemRandom } from '../../runtime/random.ts';
import { ignoreMissing, type Lock, type LockSystem, lockFile, removeFile } from './file-lock.ts';
import type { SettingsStore } from './store.ts';

/** Nobody but its owner reads a file with secrets. */
const MODE = 0o600;

const SYSTEM: LockSystem = { files: nodeFiles, clock: systemClock, random: systemRandom };

/**
 * The new text is written beside the file, forced to the disk, and put in its place by renaming: whoever
 * reads, and whenever this process is killed, there is the old text or the new one, whole.
 */
export function fileStore(file: string, system: LockSystem = SYSTEM): SettingsStore {
  const { files } = system;
  // The process may go to another folder later.
  const path = resolve(file);
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
  const target = await targetOf(path, files);
  const lock = await lockFile(target, system);
  try {
    const before = await readText(target, files);
    const after = change(before);
    if (after !== undefined && after !== before) await replace(target, after, { lock, ...system });
  } finally {
    await lock.release();
  }
}

/** Where it is a link, what it leads to is replaced, or made, and not the link. */
async function targetOf(path: string, files: LockSystem['files']): Promise<string> {
  const there = await files.realpath(path).catch(ignoreMissing);
  if (there !== undefined) return there;
  const next = await files.readlink(path).catch(ignoreMissing);
  return next === undefined ? path : targetOf(resolve(dirname(path), next), files);
}

async function replace(
  path: string,
  text: string,
  { lock, files }: Pick<LockSystem, 'files'> & { readonly lock: Lock },
): Promise<void> {
  try {
    const handle = await files.open(lock.temporaryPath, 'wx', MODE);
    try {
      await keepOwner(handle, path, files);
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
    await removeFile(lock.temporaryPath, files).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path), files);
}

/** Written by an administrator, it stays readable for the user whom it belongs to. */
async function keepOwner(
  handle: FileHandle,
  path: string,
  files: LockSystem['files'],
): Promise<void> {
  const before = await files.stat(path).catch(ignoreMissing);
  if (before === undefined || before.uid === process.geteuid?.()) return;
  // Who may not give it away keeps it.
  await handle.chown(before.uid, before.gid).catch(() => undefined);
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

async function readText(path: string, files: LockSystem['files']): Promise<string | undefined> {
  const bytes = await files.readFile(path).catch(ignoreMissing);
  const text = bytes?.toString();
  // What is no UTF-8 would be lost when it is written again.
  if (text === undefined || bytes?.equals(Buffer.from(text)) === true) return text;
  throw new SecurityEventError('ERR_SETTINGS_FAILED', { detail: 'expected UTF-8' });
}

async function wrapped<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof SecurityEventError) throw cause;
    throw new SecurityEventError('ERR_CONFIGURATION_FAILED', { cause });
  }
}
