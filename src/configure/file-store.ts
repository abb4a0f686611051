/** Stores a configuration in a file. */
import type { FileHandle } from 'node:fs/promises';
import * as nodeFiles from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { SecurityEventError } from '../errors.ts';
import { systemClock } from '../runtime/clock.ts';
import { systemRandom } from '../runtime/random.ts';
import type { SettingsStore } from './configuration.ts';
import { ignoreMissing, type Lock, type LockSystem, lockFile, removeFile } from './file-lock.ts';

/** The file contains secrets. */
const MODE = 0o600;

const SYSTEM: LockSystem = { files: nodeFiles, clock: systemClock, random: systemRandom };

/**
 * Writes the new text to a temporary file, syncs it, and renames it over the file: readers always find the
 * whole old text or the whole new one, even if this process is killed.
 */
export function fileStore(file: string, system: LockSystem = SYSTEM): SettingsStore {
  const { files } = system;
  // The process may change its working directory later.
  const path = resolve(file);
  let writing: Promise<unknown> = Promise.resolve();
  return {
    read: () => readText(path, files),
    update(change) {
      // Updates of this process run one after the other: only other processes need the lock file.
      const done = writing.then(() => updateFile(path, change, system));
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

/** Follows links, so that their target is replaced or created, not the link. */
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

/** Gives the new file the owner of the old one: after a change by an administrator, that user must still read it. */
async function keepOwner(
  handle: FileHandle,
  path: string,
  files: LockSystem['files'],
): Promise<void> {
  const before = await files.stat(path).catch(ignoreMissing);
  if (before === undefined || before.uid === process.geteuid?.()) return;
  // Without the permission to change the owner, the writer becomes the owner.
  await handle.chown(before.uid, before.gid).catch(() => undefined);
}

/** Makes the rename survive a power failure, where the system supports it. */
async function syncFolder(folder: string, files: LockSystem['files']): Promise<void> {
  try {
    const handle = await files.open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // Not supported: the new text is in place nevertheless.
  }
}

async function readText(path: string, files: LockSystem['files']): Promise<string | undefined> {
  const stats = await files.stat(path).catch(ignoreMissing);
  // Reading a pipe might never end, and a write would replace a device by a file.
  if (stats?.isFile() === false && !stats.isDirectory()) {
    throw new SecurityEventError('ERR_SETTINGS_FAILED', { detail: 'it is not a file' });
  }
  const bytes = await files.readFile(path).catch(ignoreMissing);
  const text = bytes?.toString();
  // Bytes that are not UTF-8 would be lost by the next write.
  if (text === undefined || bytes?.equals(Buffer.from(text)) === true) return text;
  throw new SecurityEventError('ERR_SETTINGS_FAILED', { detail: 'expected UTF-8' });
}
